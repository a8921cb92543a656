'use strict'
// The checksum, by whatever means it is made: always the one of docs/internals/format.md.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { crc32, crc32OfFew } = require('../lib/crc32')
const { crc } = require('./checked-oracle')

const seed = Date.now() % 2 ** 31

tape('crc32: the check value of the CRC catalogue', (t) => {
  const digits = Buffer.from('123456789')
  for (const value of [crc32(digits), crc32OfFew(digits, 0, 9, 0), crc(digits)]) t.equal(value, 0xcbf43926)
  t.equal(crc32(Buffer.alloc(0)), 0)
  t.end()
})

tape(`crc32: the same by every means, whatever the size and the seed (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const sizes = [...Array(100).keys(), 255, 256, 257, 2048, 16344, 70000]
  for (const size of sizes) {
    const bytes = Buffer.from(Array.from({ length: size + 3 }, () => random(256)))
    for (const start of [0, 3]) {
      for (const before of [0, 1, random(2 ** 32), 2 ** 32 - 1]) {
        const part = bytes.subarray(start, start + size)
        const expected = crc(part, before)
        const found = [crc32(part, before), crc32OfFew(bytes, start, start + size, before)]
        if (found.some((value) => value !== expected)) t.fail(`${size} bytes from ${before}: ${found} instead of ${expected}`)
      }
    }
  }
  t.pass(`${sizes.length} sizes`)
  t.end()
})

tape('crc32: zlib does it where the native one is not installed, or not wanted', (t) => {
  const file = path.join(__dirname, '..', 'lib', 'crc32')
  const print = `
    const { crc32 } = require(${JSON.stringify(file)})
    console.log(crc32(Buffer.alloc(5000, 'x')), crc32(Buffer.alloc(5000, 'x'), 77), calls)`
  const count = `
    const zlib = require('node:zlib')
    const original = zlib.crc32
    let calls = 0
    zlib.crc32 = (...args) => {
      calls++
      return original(...args)
    }`
  const hide = `
    const Module = require('node:module')
    const { _load } = Module
    Module._load = (name, ...rest) => {
      if (name === '@node-rs/crc32') throw Object.assign(new Error('not installed'), { code: 'MODULE_NOT_FOUND' })
      return _load(name, ...rest)
    }`
  const bytes = Buffer.alloc(5000, 'x')
  const expected = `${crc(bytes)} ${crc(bytes, 77)} 2`
  for (const [script, env] of [[count + print, { MILLRACE_CRC32: 'zlib' }], [count + hide + print, {}]]) {
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { env: { ...process.env, ...env } })
    t.equal(String(stdout).trim(), expected, String(stderr))
  }
  t.end()
})
