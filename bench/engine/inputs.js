'use strict'
// The logs of the bench, for the rows that read them: made when the first row asks for one.

const { createInputs, describeSource, findSource } = require('../lib/logs')

/** @typedef {import('./row').Context} Context */

/**
 * @param {Context} context  its options say how many records, or give a file
 * @returns {Promise<{ source: import('../lib/logs').Source, inputs: ReturnType<typeof createInputs> }>}
 */
function openInputs ({ options, generated, once }) {
  return once('inputs', async () => {
    const source = await findSource(options, generated)
    once('input', () => describeSource(source))
    return { source, inputs: createInputs(source, generated) }
  })
}

/**
 * A log of the bench, in the page cache.
 * @param {Context} context
 * @param {import('../lib/logs').Input} input
 * @returns {Promise<string>}  its path
 */
async function findLog (context, input) {
  const { inputs } = await openInputs(context)
  const path = inputs.pathOf(input)
  await context.once(`log ${path}`, () => inputs.prepare([input]))
  return path
}

exports.openInputs = openInputs
exports.findLog = findLog
