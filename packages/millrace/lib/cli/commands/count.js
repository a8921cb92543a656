'use strict'

const { filterOptions, options, rangeOptions, reportLost, toReadOptions, withFirst } = require('../records')
const { openSource } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'count',
  summary: 'counts records',
  arguments: [{ name: 'file', description: 'the log, or - for one on standard input' }],
  options: [
    ...rangeOptions,
    ...filterOptions,
    options.codec,
    options.skipDamage,
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace count events.log --where type=post', 'how many posts there are']],
  async run ({ args, options, shell }) {
    const { log, first, close } = await openSource(shell, args.file, options)
    try {
      const count = options.grep === undefined ? countRuns : countTexts
      const { records, code } = await count(log, withFirst(options, first), shell)
      shell.print(options.json ? JSON.stringify({ records }) : String(records))
      return code
    } finally {
      await close()
    }
  }
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
