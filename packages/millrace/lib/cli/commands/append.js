'use strict'

const { appendLines } = require('../appending')
const { readLines } = require('../lines')
const { writeOptions } = require('../records')
const { openTarget } = require('../target')
const { openTextSource } = require('../text-source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'append',
  summary: 'appends records: the ones that are given, or lines of JSON from standard input as they come',
  details: 'The log is created if there is none. The command holds the log\'s lock while it runs. To bring in a large file, ' +
    'use `import`.',
  arguments: [
    { name: 'file', description: 'the log' },
    { name: 'values', description: 'records as JSON. Without any, or with -, standard input is read', kind: 'text', isOptional: true, isList: true }
  ],
  options: [...writeOptions, { flags: '-s, --seqs', description: 'print the seq of each record' }],
  examples: [
    ['millrace append events.log \'{"type":"post","text":"hello"}\'', 'one record'],
    ['tail -f app.ndjson | millrace append --fsync always events.log', 'each line as it comes, synced']
  ],
  async run ({ args, options, shell }) {
    const isGiven = args.values.length > 0 && args.values[0] !== '-'
    const source = isGiven ? null : await openTextSource(shell, { command: 'append', file: args.file })
    const log = await openTarget(args.file, options)
    try {
      shell.onAbort(() => shell.stdin.destroy())
      await appendLines(log, source === null ? [numberTexts(args.values)] : readLines(source.input), {
        name: source === null ? null : source.name,
        signal: shell.signal,
        isEager: true,
        onSeq: options.seqs ? (seq) => shell.print(String(seq)) : undefined,
        onAppended: () => shell.flush()
      })
      if (!shell.signal.aborted) await log.make?.()
    } finally {
      await log.close()
    }
  }
}

/** @param {string[]} texts */
function numberTexts (texts) {
  return texts.map((text, index) => ({ number: index + 1, text }))
}
