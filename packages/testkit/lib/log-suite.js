'use strict'
// The suite that every Log must pass. The test of a log is a few lines:
//
//   testLog(tape, (path, options) => OffsetLog(path, options), { name: 'offset32' })

const path = require('node:path')
const { addAskingTests } = require('./log-suite/asking')
const { addEndingTests } = require('./log-suite/ending')
const { addFlowTests } = require('./log-suite/flowing')
const { addRangeTests } = require('./log-suite/ranges')
const { addLiveTests, addReadTests } = require('./log-suite/reading')
const { addThrowTests } = require('./log-suite/throwing')
const { addAppendTests, addDeleteTests, addLifecycleTests } = require('./log-suite/writing')
const { temporaryFolder } = require('./tools')

/**
 * @typedef {object} LogSuiteOptions
 * @property {string} [name]  begins the titles
 * @property {number} [seed]  of the random tests
 * @typedef {(options?: object) => any} CreateHere  opens another log on the file of the test
 * @typedef {(t: any, log: any, create: CreateHere) => Promise<void>} RunTest  its logs are closed afterwards
 * @typedef {(title: string, run: RunTest, options?: object) => void} AddTest  with the options of the first log
 * @typedef {{ name: string, seed: number, test: AddTest }} Suite
 */

/**
 * Checks the Log contract. The suite opens the same path again to see which records survived. A log declares what it
 * cannot do in `log.supports`.
 * @param {any} tape
 * @param {(path: string, options: object) => any} createLog  opens a log on the path; the options hold the codec
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
  addAskingTests(suite)
  addEndingTests(suite)
  addFlowTests(suite)
  addDeleteTests(suite)
  addLifecycleTests(suite)
  addThrowTests(suite)
}

/** A codec of strings, as in flumecodec. Every log must take it. */
const jsonText = {
  name: 'json-text',
  buffer: false,
  encode: (/** @type {unknown} */ value) => JSON.stringify(value),
  decode: (/** @type {string} */ text) => JSON.parse(text)
}

exports.testLog = testLog
