'use strict'
// Logs, sinks and reports that the tests share.

const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { Forwarder } = require('..')

/** Fast enough for tests, on a busy machine too. */
const QUICK = { batch: { ageMs: 0 }, backoff: { minMs: 1, maxMs: 5 }, lagMs: 0 }

/** @type {(options?: object, file?: string) => any} */
function makeLog (options, file = newPath('log')) {
  return OffsetLog(file, { codec: jsonCodec, ...options })
}

/** Appends `{ n: first }` and so on. @type {(log: any, count: number, first?: number) => Promise<any>} */
function fill (log, count, first = 0) {
  return log.append(Array.from({ length: count }, (_, index) => ({ n: first + index })))
}

/** @type {(first: number, end: number) => number[]} */
function range (first, end) {
  return Array.from({ length: end - first }, (_, index) => first + index)
}

/** A sink that keeps what it gets. */
function createCollector () {
  const batches = []
  const keys = []
  return {
    batches,
    keys,
    send: async (records, { key }) => {
      batches.push(records.map(({ value }) => value.n))
      keys.push(key)
    },
    get all () {
      return batches.flat()
    }
  }
}

/** A forwarder that keeps its reports. @type {(log: any, options: any) => any} */
function forward (log, options) {
  const reports = []
  const forwarder = Forwarder(log, { ...QUICK, onReport: (report) => reports.push(report), ...options })
  return Object.assign(forwarder, { reports })
}

/** @param {() => boolean} condition */
/** The body of a request; null if the client is gone. @param {import('node:http').IncomingMessage} request */
async function readBody (request) {
  const parts = []
  try {
    for await (const part of request) parts.push(part)
  } catch {
    return null
  }
  return Buffer.concat(parts)
}

const kindsOf = ({ reports }) => [...new Set(reports.map(({ what }) => what))]

exports.QUICK = QUICK
exports.makeLog = makeLog
exports.fill = fill
exports.range = range
exports.createCollector = createCollector
exports.forward = forward
exports.readBody = readBody
exports.kindsOf = kindsOf
