'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { LogError, misuse, codes } = require('..')

tape('LogError: carries code, cause, offset and path', (t) => {
  const cause = new Error('below')
  const err = new LogError('ERR_LOG_CORRUPT', 'two lengths differ', { cause, offset: 12, path: '/tmp/log' })
  t.ok(err instanceof Error)
  t.equal(err.name, 'LogError')
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.message, 'two lengths differ')
  t.equal(err.cause, cause)
  t.equal(err.offset, 12)
  t.equal(err.path, '/tmp/log')
  t.end()
})

tape('LogError: names the holder of what is locked', (t) => {
  const holder = { host: 'host', pid: 7, thread: 8, since: '2026-01-01T00:00:00.000Z' }
  t.equal(new LogError('ERR_LOG_LOCKED', 'locked', { holder }).holder, holder)
  t.equal(new LogError('ERR_LOG_CLOSED', 'closed').holder, undefined)
  t.end()
})

tape('LogError: has no cause when there is none', (t) => {
  t.notOk(Object.hasOwn(new LogError('ERR_LOG_CLOSED', 'closed'), 'cause'))
  t.end()
})

tape('misuse: is a TypeError with a code', (t) => {
  const err = misuse('expected a number')
  t.ok(err instanceof TypeError)
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
  t.end()
})

/** Those of Node.js that the source looks for. */
const OF_NODE = ['ERR_ACCESS_DENIED', 'ERR_BUFFER_TOO_LARGE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED']

tape('codes: every code that the source names is in the table', (t) => {
  const packages = path.join(__dirname, '..', '..')
  const named = new Set()
  for (const name of fs.readdirSync(packages)) {
    const lib = path.join(packages, name, 'lib')
    if (!fs.existsSync(lib)) continue
    for (const file of fs.readdirSync(lib, { recursive: true })) {
      if (!String(file).endsWith('.js')) continue
      const source = fs.readFileSync(path.join(lib, String(file)), 'utf8')
      for (const [, code] of source.matchAll(/'(ERR_[A-Z_]+|ABORT_ERR|flumelog:deleted)'/g)) named.add(code)
    }
  }
  t.deepEqual([...named].filter((code) => !(code in codes) && !OF_NODE.includes(code)), [])
  t.deepEqual(Object.keys(codes).filter((code) => !named.has(code)), [], 'and every code of the table is used')
  t.end()
})
