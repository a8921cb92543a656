'use strict'
// One suite in a process of its own, so that no other's values have shaped the code of its functions.
// Usage: node child.js '{ "suiteFile", "timeMs" }'; prints one line of JSON.

const { answerOrder } = require('../lib/answer-order')
const { createMessages, DEFAULT_SEED } = require('../lib/generate-messages')

// Enough that lengths and kinds are mixed; less than a megabyte, so that it is the function that is timed, not memory.
const MESSAGE_COUNT = 1000
const WARMUP_SHARE = 0.4
const LEAST = { iterations: 16, warmupIterations: 4 }

/** @typedef {import('./shapes').Figure} Figure */

answerOrder(measure)

/**
 * @param {{ suiteFile: string, timeMs: number }} order
 * @returns {Promise<{ figures: Figure[] }>}
 */
async function measure ({ suiteFile, timeMs }) {
  /** @type {import('./shapes').Suite} */
  const suite = require(suiteFile)
  const { next, query } = createMessages(DEFAULT_SEED)
  const messages = Array.from({ length: MESSAGE_COUNT }, next)
  const tasks = suite.createTasks({ messages, where: { path: ['value', 'content', 'root'], equals: query } })
  const { Bench } = await loadTinybench()
  const bench = new Bench({ time: timeMs, warmupTime: timeMs * WARMUP_SHARE, ...LEAST, throws: true })
  for (const { name, run } of tasks) bench.add(name, () => { run() }, { async: false })
  await bench.run()
  return {
    figures: tasks.map(({ name, count, bytes }) => {
      const { p50, p75, samplesCount } = bench.getTask(name).result.latency
      return {
        suite: suite.name,
        name,
        ns: p50 / count * 1e6,
        nsLate: p75 / count * 1e6,
        mbPerSecond: bytes === undefined ? null : bytes / p50 / 1000,
        samples: samplesCount
      }
    })
  }
}

/** @returns {Promise<any>}  by a name that the type checker does not follow: it may not be installed */
function loadTinybench () {
  const name = 'tinybench'
  return import(/** @type {string} */ (name))
}
