'use strict'
// The conformance suite of the Log contract. An implementation's own test is a few lines:
//
//   testLog(tape, (path, options) => OffsetLog(path, options), { name: 'offset32' })

const path = require('node:path')
const { addRangeTests } = require('./log-suite/ranges')
const { addLiveTests, addReadTests } = require('./log-suite/reading')
const { addAppendTests, addDeleteTests, addLifecycleTests } = require('./log-suite/writing')
const { temporaryFolder } = require('./tools')

/**
 * @typedef {object} LogSuiteOptions
 * @property {string} [name]  begins the title of each test
 * @property {number} [seed]  of the random tests
 * @typedef {(options?: object) => any} CreateHere  another log on the file of the test's own
 * @typedef {(t: any, log: any, create: CreateHere) => Promise<void>} RunTest  every log is closed after it
 * @typedef {(title: string, run: RunTest, options?: object) => void} AddTest  the options of the first log
 * @typedef {{ name: string, seed: number, test: AddTest }} Suite
 */

/**
 * @param {any} tape
 * @param {(path: string, options: object) => any} createLog  a new Log on the path; the options hold the codec
 * @param {LogSuiteOptions} [options]
 */
function testLog (tape, createLog, { name = 'log', seed = Date.now() % 2 ** 31 } = {}) {
  /** @type {AddTest} */
  const test = (title, run, options) => tape(`${name}: ${title}`, async (/** @type {any} */ t) => {
    const file = path.join(temporaryFolder(), 'test.log')
    /** @type {any[]} */
    const logs = []
    /** @type {CreateHere} */
    const create = (options) => {
      logs.push(createLog(file, { codec: jsonText, ...options }))
      return logs[logs.length - 1]
    }
    await run(t, create(options), create)
    for (const log of logs) await log.close()
  })
  const suite = { name, seed, test }
  addAppendTests(suite)
  addReadTests(suite)
  addRangeTests(suite)
  addLiveTests(suite)
  addDeleteTests(suite)
  addLifecycleTests(suite)
}

/** JSON as a codec of strings: flumecodec's shape, which every log must take. */
const jsonText = {
  name: 'json-text',
  buffer: false,
  encode: (/** @type {unknown} */ value) => JSON.stringify(value),
  decode: (/** @type {string} */ text) => JSON.parse(text)
}

exports.testLog = testLog
