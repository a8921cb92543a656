'use strict'
// Options of the connection pass through: here TLS, with a certificate that the test makes.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { serverTest, startServer } = require('./server')

serverTest(tape, 'tls: a server with a certificate of our own authority is trusted, and no other', async (t) => {
  const folder = temporaryFolder()
  const file = (/** @type {string} */ name) => path.join(folder, name)
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost', '-keyout', file('key.pem'), '-out', file('cert.pem')])
  if (made.status !== 0) return t.skip('needs openssl')
  const server = await startServer({ config: `tls { cert_file: "${file('cert.pem')}", key_file: "${file('key.pem')}" }` })
  const open = (/** @type {object} */ tls) => {
    return JetStreamLog({ servers: `localhost:${server.port}`, stream: 'events', codec: jsonCodec, tls, timeout: 3000 })
  }
  const log = open({ caFile: file('cert.pem') })
  t.equal(await log.append('a'), 1)
  t.equal(await log.get(1), 'a')
  await log.close()
  const err = await failureOf(() => open({}).ready())
  t.ok(['ERR_SERVER_UNAVAILABLE', 'ERR_SERVER_REFUSED'].includes(err?.code), err?.message)
  t.ok(err?.cause)
  await server.remove()
})
