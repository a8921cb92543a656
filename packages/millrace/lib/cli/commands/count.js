'use strict'

const { explainOption, printExplanation } = require('../explaining')
const { isOfBytes, printBytes } = require('../printing')
const { filterOptions, options, rangeOptions, reportLost, reportUnknown, toReadOptions } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'count',
  summary: 'counts records',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [
    ...rangeOptions,
    ...filterOptions,
    options.codec,
    options.skipDamage,
    explainOption,
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace count events.log --where type=post', 'how many posts there are']],
  async run ({ args, options, shell }) {
    const source = await openSource(shell, args.file, options)
    try {
      if (options.explain) return await printExplanation(shell, source, options)
      const countPart = chooseCount(source, options)
      let records = 0
      let code = 0
      for (const { log } of source.parts) {
        const counted = await countPart(log, options, shell)
        records += counted.records
        code = Math.max(code, counted.code)
      }
      reportUnknown(shell, source.tally, options)
      shell.print(options.json ? JSON.stringify({ records }) : String(records))
      return code
    } finally {
      await source.close()
    }
  }
}

/**
 * @param {import('../source').OpenedSource} source
 * @param {Record<string, any>} options
 */
function chooseCount (source, options) {
  if (!options.grep) return countRuns
  return isOfBytes({ isTerminal: false }, source, options) ? countBytes : countTexts
}

/**
 * @param {import('../source').Log} log
 * @param {Record<string, any>} options
 * @param {import('../shell').Shell} shell
 */
async function countRuns (log, options, shell) {
  let records = 0
  const { signal } = shell
  const result = await log.scan({ ...toReadOptions(options), signal }, (run) => { records += run.count })
  return { records, code: reportLost(shell, result) }
}

/** @type {typeof countRuns} */
async function countTexts (log, options, shell) {
  let records = 0
  const stream = log.stream({ ...toReadOptions(options), seqs: false, signal: shell.signal })
  for await (const text of stream) {
    if (text.includes(options.grep)) records++
    shell.throwIfAborted()
  }
  return { records, code: reportLost(shell, stream) }
}

/** @type {typeof countRuns} */
async function countBytes (log, options, shell) {
  const { signal } = shell
  const result = await printBytes({ isTerminal: false, signal, write: async () => {} }, log, options)
  return { records: result.count, code: reportLost(shell, result) }
}
