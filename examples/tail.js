'use strict'
// tail -f between two processes: one writes a log, any number of others see each record a moment after it was written,
// also when the writer is killed and another takes its place.
// Usage: node tail.js <file> [--last <n>]     shows the last records, and goes on with those that come
//        node tail.js <file> --write          appends each line of the standard input

const readline = require('node:readline')
const { parseArgs } = require('node:util')
const { OffsetLog } = require('@millrace/offset-log')
const { jsonCodec } = require('@millrace/json-codec')

/** @param {string} file  @param {number} count */
async function tail (file, count) {
  // It takes no lock, and writes nothing: any number of readers may come.
  const log = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  await log.ready()
  process.once('SIGINT', () => log.close())
  let first = Infinity
  for await (const seq of log.stream({ reverse: true, limit: count, values: false })) first = seq
  const from = first === Infinity ? { gt: log.since.value } : { gte: first }
  for await (const { seq, value: { at, line } } of log.stream({ ...from, live: true })) console.log(`${seq} ${at} ${line}`)
}

/** @param {string} file */
async function write (file) {
  const log = OffsetLog(file, { codec: jsonCodec })
  await log.ready()
  for await (const line of readline.createInterface({ input: process.stdin })) {
    await log.append({ at: new Date().toISOString(), line })
  }
  await log.close()
}

const { values, positionals: [file] } = parseArgs({
  allowPositionals: true,
  options: { last: { type: 'string', default: '10' }, write: { type: 'boolean', default: false } }
})

if (!file) {
  console.error('usage: node tail.js <file> [--last <n>] | --write')
  process.exit(1)
}
const running = values.write ? write(file) : tail(file, Number(values.last))
running.catch((err) => {
  console.error(`${err.code}: ${err.message}`)
  process.exitCode = 1
})
