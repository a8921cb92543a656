'use strict'
// Values of another realm: those of node:vm, and all that Node.js makes where jest runs a test. No `instanceof` knows
// them.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const vm = require('node:vm')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { LogWriter, lines } = require('@millrace/log-writer')
const { OffsetLog } = require('@millrace/offset-log')
const { faultyStorage, newPath, temporaryFolder } = require('@millrace/testkit')
const { timeFilter } = require('@millrace/where')

const foreign = (code) => vm.runInNewContext(code)

async function readAll (log) {
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(value)
  return values
}

tape('realms: bytes of another one are appended as bytes', async (t) => {
  const log = OffsetLog(newPath('log'))
  await log.append(foreign('new Uint8Array([97, 98])'))
  await log.append(foreign('[new Uint8Array([99]), new Uint8Array(0)]'))
  t.deepEqual((await readAll(log)).map(String), ['ab', 'c', ''])
  await log.close()
  const encoded = foreign('(bytes) => new Uint8Array(bytes)')(binaryCodec.encode({ a: 1 }))
  t.deepEqual(binaryCodec.decode(encoded), { a: 1 })
})

tape('realms: bytes of another one are text of a record for a log writer: they became an object of their elements', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: lines })
  await log.ready()
  const writer = LogWriter(log)
  const bytes = foreign(`new Uint8Array(${JSON.stringify([...Buffer.from('{"a":1}')])})`)
  writer.write(bytes, 'info')
  await writer.close()
  t.deepEqual(await readAll(log), [{ a: 1 }], 'of the writer')
  await log.append(bytes)
  t.deepEqual(await log.last({ seqs: false }), { a: 1 }, 'of the codec lines')
  await log.close()
})

tape('realms: a failure of the disk that is an Error of another one ends a loop with it', async (t) => {
  const fails = { read: false }
  const error = Object.assign(foreign('new Error("EIO: i/o error")'), { code: 'EIO' })
  const storage = faultyStorage(fileStorage, ({ name }) => fails.read && /^read/.test(name) ? { error } : undefined)
  for (const framing of ['checked', 'offset32', 'lines']) {
    const file = newPath('log')
    const log = OffsetLog(file, { codec: jsonCodec, framing })
    await log.append(Array.from({ length: 20_000 }, (_, n) => ({ n, text: 'x'.repeat(50) })))
    await log.close()
    for (const range of [{}, { reverse: true }, { live: true, gt: -1 }, { where: { path: 'n', equals: 1 } }]) {
      fails.read = false
      const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', storage, cache: 64 * 1024 })
      await reader.ready()
      const values = reader.stream({ ...range, seqs: false })
      let found = null
      try {
        for await (const value of values) {
          if (value === undefined) found = 'undefined'
          fails.read = true
        }
        found ??= 'the end'
      } catch (err) {
        found ??= err.code
      }
      t.equal(found, 'EIO', `${framing}, ${JSON.stringify(range)}`)
      fails.read = false
      await reader.close()
    }
  }
})

tape('realms: a Date of another one is a time', (t) => {
  t.deepEqual(timeFilter({ since: foreign('new Date(5)') }), timeFilter({ since: new Date(5) }))
  t.throws(() => timeFilter({ since: foreign('({})') }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('realms: a program in which Uint8Array is not that of Buffer, as with jsdom, uses a log', (t) => {
  const program = `
    globalThis.Uint8Array = require('node:vm').runInNewContext('Uint8Array')
    const { binaryCodec, OffsetLog, jsonCodec } = require('millrace')
    async function main () {
      const found = [Buffer.alloc(0) instanceof Uint8Array]
      for (const [name, codec, value] of [['a', binaryCodec, { b: Buffer.from('x'), n: 1 }], ['b', jsonCodec, { n: 1 }], ['c', undefined, Buffer.from('y')]]) {
        const log = OffsetLog(process.argv[1] + name, { ...(codec && { codec }) })
        for (let n = 0; n < 100; n++) await log.append(value)
        const where = codec && { path: 'n', equals: 1 }
        found.push(await log.count({ ...(where && { where }) }), JSON.stringify(await log.last({ seqs: false })))
        await log.compact()
        await log.close()
      }
      console.log(found.join())
    }
    main()`
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program, `${temporaryFolder()}${path.sep}`], { cwd: __dirname, encoding: 'utf8' })
  const bytes = (text) => JSON.stringify(Buffer.from(text))
  t.equal(stdout, `false,100,{"b":${bytes('x')},"n":1},100,{"n":1},100,${bytes('y')}\n`, stderr)
  t.end()
})
