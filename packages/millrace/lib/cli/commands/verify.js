'use strict'

const { escapeControls } = require('@millrace/flow')
const { countRanges, countRecords, describeRange, describeSize } = require('../report')
const { findLog, storageOf } = require('../source')
const { formatCount } = require('../text')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'verify',
  summary: 'reads a whole log and lists its damage',
  details: 'Exit code 0: the log is whole. 1: it is damaged, and each damaged range is printed on a line. Nothing is changed.',
  arguments: [{ name: 'file', description: 'the log, or - for one on standard input' }],
  options: [
    {
      flags: '--framing <name>',
      description: 'the framing of the log, if its beginning is too damaged to show it',
      choices: ['checked', 'offset32', 'offset48', 'offset53']
    },
    { flags: '-q, --quiet', description: 'print nothing; only the exit code tells the result' },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace verify events.log && echo whole', 'checks every record of the log']],
  async run ({ args, options, shell }) {
    const { verify } = require('@millrace/repair')
    const found = await findLog(shell, args.file)
    const progress = shell.progress('verifying')
    const isListed = !options.quiet && !options.json
    let report
    try {
      report = await verify(found.path, {
        storage: storageOf(found.path),
        framing: options.framing,
        // Ranges are as many as the damage makes them: they are printed as they are found.
        onDamage: isListed ? (range) => shell.print(shell.style('red', describeRange(range))) : undefined,
        signal: shell.signal,
        onProgress: ({ position, size }) => progress.update(position, size)
      })
    } finally {
      progress.end()
      found.remove()
    }
    if (options.json) shell.print(JSON.stringify(report))
    else if (isListed) printSummary(shell, report)
    return report.isSound ? 0 : 1
  }
}

/**
 * @param {import('../shell').Shell} shell
 * @param {import('@millrace/repair').Report} report
 */
function printSummary (shell, report) {
  const { path, framing, size, records, erased, damageCount, damageSize } = report
  const { tail, flaws, undeleted, unanchoredCount } = report
  for (const flaw of flaws) shell.print(`${describeRange(flaw)}: there is a good second copy`)
  if (tail) {
    const what = tail.isZeros ? 'zeros behind the end' : 'a last write that was cut off'
    shell.print(`bytes ${tail.offset} to ${tail.offset + tail.size}: ${what}; the next open for writing cuts it`)
  }
  if (undeleted > 0) shell.print(`${formatCount(undeleted)} deletions are undone: the disk brought back old pages`)
  if (unanchoredCount > 0) shell.print(`${formatCount(unanchoredCount)} ranges may be left over from writes that were taken back`)
  const found = [framing ?? 'empty', describeSize(size), countRecords(records)]
  if (erased > 0) found.push(`${formatCount(erased)} deleted`)
  const verdict = report.isSound ? shell.style('green', 'whole') : shell.style('red', `damaged in ${countRanges(damageCount, damageSize)}`)
  shell.print(`${escapeControls(path)}: ${verdict}; ${found.join(', ')}`)
}
