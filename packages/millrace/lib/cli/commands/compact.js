'use strict'

const { describeSize } = require('../report')
const { openTarget } = require('../target')

const OF_SEGMENTS = 'compact works on one file. Segments give space back as the oldest are dropped: open the log with ' +
  'maxSize, maxAge or maxCount'

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'compact',
  summary: 'gives back the space of erased records',
  details: 'Records keep their seqs. The new file needs room beside the old one. If the command is interrupted, the log is ' +
    'either the whole old file or the whole new one.',
  arguments: [{ name: 'file', description: 'the log' }],
  options: [{ flags: '--json', description: 'print one line of JSON' }],
  examples: [['millrace compact events.log', 'says how large the log was, and is']],
  async run ({ args, options, shell }) {
    const log = await openTarget(args.file, { mustExist: true, advice: OF_SEGMENTS })
    const progress = shell.progress('compacting')
    let result
    try {
      log.compactionProgress((/** @type {any} */ at) => { if (at) progress.update(at.doneSize, at.totalSize) })
      // Closing the log ends its compaction, and leaves the log as it was.
      shell.onAbort(() => log.close(() => {}))
      result = await log.compact()
    } finally {
      progress.end()
      await log.close()
    }
    const { sizeBefore, size } = result
    shell.print(options.json ? JSON.stringify(result) : `${describeSize(sizeBefore)} before, ${describeSize(size)} now`)
  }
}
