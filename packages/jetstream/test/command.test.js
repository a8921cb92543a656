'use strict'
// `millrace ship` and `millrace cat` with the address of a stream.

const { spawn } = require('node:child_process')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const tape = require('tape')
const { serverTest, startServer } = require('./server')
const { fill, makeSource } = require('./ship-helpers')

const BIN = path.join(__dirname, '..', '..', 'millrace', 'bin', 'millrace.js')

/** @type {(words: string[], onSpawn?: (child: any) => void) => Promise<any>} */
function run (words, onSpawn = () => {}) {
  const child = spawn(process.execPath, [BIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) {
    child[name].on('data', (chunk) => { output[name] += chunk })
  }
  onSpawn(child)
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ ...output, code, signal })))
}

serverTest(tape, 'command: ship, and cat of what was shipped', async (t) => {
  const server = await startServer()
  const log = await makeSource(1500)
  // Digits and spaces that JSON.parse would not keep.
  const odd = OffsetLog(newPath('odd'), { codec: { ...jsonCodec, encode: Buffer.from } })
  await odd.append('{ "n": 12345678901234567890 }')
  const address = `${server.url}/events`
  let { code, stdout, stderr } = await run(['ship', log.filename, address, '--verify'])
  t.deepEqual([code, stdout], [0, ''])
  t.equal(stderr, 'shipped 1,500 records; the stream has what the log has\n')
  t.equal((await run(['cat', address])).stdout, (await run(['cat', log.filename])).stdout, 'cat prints the same')
  t.equal((await run(['cat', address, '--where', 'n>=1498'])).stdout, '{"n":1498}\n{"n":1499}\n')
  t.equal((await run(['tail', '-n', '1', address])).stdout, '{"n":1499}\n')
  await fill(log, 10, 1500);
  ({ code, stdout } = await run(['ship', log.filename, address, '--json']))
  t.deepEqual([code, JSON.parse(stdout).shipped], [0, 10], 'only the new ones')
  await run(['ship', odd.filename, `${server.url}/odd`])
  t.equal((await run(['cat', `${server.url}/odd`])).stdout, '{ "n": 12345678901234567890 }\n', 'bytes as they are')

  const other = await run(['ship', odd.filename, address])
  t.equal(other.code, 1)
  t.match(other.stderr, /^millrace: the last record of nats:.*came from the log/)
  const missing = await run(['cat', `${server.url}/nothing`])
  t.deepEqual([missing.code, missing.stderr], [2, `millrace: there is no stream ${server.url}/nothing; check the name and the server\n`])
  for (const one of [log, odd]) await one.close()
  await server.remove()
})

serverTest(tape, 'command: ship --follow goes on until it is interrupted; records that the stream lost are told', async (t) => {
  const server = await startServer({ config: 'authorization { token: "secret" }' })
  const address = `nats://secret@127.0.0.1:${server.port}/events`
  const log = await makeSource(10)
  let shipping
  const following = run(['ship', '--follow', log.filename, address], (child) => { shipping = child })
  let lines = ''
  for (const count of [10, 20]) {
    while (lines.split('\n').length <= count) lines = (await run(['cat', address])).stdout
    if (count === 10) await fill(log, 10, 10)
  }
  t.ok(lines.endsWith('{"n":19}\n'))
  t.equal((await run(['cat', `nats://wrong@127.0.0.1:${server.port}/events`])).code, 1, 'a wrong token')
  shipping.kill('SIGINT')
  const { signal, stderr } = await following
  t.deepEqual([signal, stderr], ['SIGINT', 'shipped 20 records\n'])
  await server.remove()

  const empty = await startServer()
  const refill = await run(['ship', log.filename, `${empty.url}/events`, '--name', 'second'])
  t.equal(refill.code, 0)
  await empty.remove()
  const third = await startServer()
  const lost = await run(['ship', log.filename, `${third.url}/events`, '--name', 'second'])
  t.equal(lost.code, 1)
  t.match(lost.stderr, /is not the same as before: it had the record .*\nshipped 20 records\n$/)
  await third.remove()
  const down = await run(['ship', log.filename, `${third.url}/events`, '--name', 'second'])
  t.equal(down.code, 1)
  t.match(down.stderr, /^millrace: no server of nats:/)
  await log.close()
})
