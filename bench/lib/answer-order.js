'use strict'
// What a measuring process does with its order: one argument of JSON in, one line of JSON out, or the failure and 1.

/**
 * @template Order
 * @param {(order: Order) => Promise<unknown>} measure
 */
async function answerOrder (measure) {
  try {
    process.stdout.write(`${JSON.stringify(await measure(JSON.parse(process.argv[2])))}\n`)
  } catch (err) {
    process.stderr.write(`${err instanceof Error ? err.stack : err}\n`)
    process.exitCode = 1
  }
}

exports.answerOrder = answerOrder
