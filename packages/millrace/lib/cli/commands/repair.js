'use strict'

const { misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { refuseFolder } = require('../folder')
const { countRanges, countRecords, describeRange, describeSize } = require('../report')
const { explainForeign, storageOf } = require('../source')
const { formatCount } = require('../text')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'repair',
  summary: 'makes a new log of the good records of a damaged one; without --write, only says what it would do',
  details: 'The damaged log is never changed, and every record keeps its seq. Exit code of a dry run: 0 if nothing is ' +
    'damaged, 1 if something is.',
  arguments: [
    { name: 'file', description: 'the damaged log' },
    { name: 'target', description: 'the new log; nothing may be there. By default FILE.repaired', isOptional: true }
  ],
  options: [
    { flags: '--write', description: 'make the new log' },
    { flags: '--accept', description: 'take the text of a log of lines as it is, after another program has changed it' },
    {
      flags: '--framing <name>',
      description: 'the framing of the log, if its beginning is too damaged to show it',
      choices: ['checked', 'lines', 'offset32', 'offset48', 'offset53']
    },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [
    ['millrace repair events.log', 'what could be saved, and what is lost'],
    ['millrace repair events.log repaired.log --write', 'makes repaired.log'],
    ['millrace repair --accept events.jsonl', 'says that a change with an editor was right']
  ],
  async run ({ args, options, shell }) {
    const { repair } = require('@millrace/repair')
    await refuseFolder(args.file, `repair works on one file. millrace verify ${args.file} says which files are damaged; repair each of them`)
    if (options.accept) return accept(shell, args, options)
    const target = args.target ?? `${args.file}.repaired`
    const progress = shell.progress(options.write ? 'repairing' : 'examining')
    let report
    try {
      report = await repair(args.file, target, {
        write: Boolean(options.write),
        storage: storageOf(args.file),
        framing: options.framing,
        signal: shell.signal,
        onProgress: ({ position, size }) => progress.update(position, size)
      })
    } catch (err) {
      throw explainForeign(args.file, err)
    } finally {
      progress.end()
    }
    if (options.json) shell.print(JSON.stringify(report))
    else printReport(shell, report, args.file)
    return options.write || report.isSound ? 0 : 1
  }
}

/**
 * @type {(shell: import('../shell').Shell, args: Record<string, any>, options: Record<string, any>) => Promise<number>}
 */
async function accept (shell, { file, target }, options) {
  const { accept } = require('@millrace/repair')
  if (target !== undefined || options.write) throw misuse('repair --accept changes no text: it takes one file, and neither a target nor --write')
  const progress = shell.progress('reading')
  const { framing } = options
  const report = await accept(file, {
    framing,
    signal: shell.signal,
    onProgress: ({ position, size }) => progress.update(position, size)
  }).finally(() => progress.end())
  if (options.json) shell.print(JSON.stringify(report))
  else shell.print(`${escapeControls(file)}: ${report.changed === null ? 'nothing had changed' : 'its text is accepted'}; ${describeSize(report.size)}`)
  return 0
}

/**
 * @param {import('../shell').Shell} shell
 * @param {import('@millrace/repair').RepairReport} report
 * @param {string} file
 */
function printReport (shell, report, file) {
  const { isDryRun, isSound, out, recovered, recoveredFromDamage, lost, lostCount, lostSize } = report
  for (const range of lost) shell.print(shell.style('red', `lost: ${describeRange(range)}`))
  if (lostCount > lost.length) shell.print(`lost: ${formatCount(lostCount - lost.length)} ranges more`)
  const saved = `${countRecords(recovered)} ${isDryRun ? 'can be saved' : 'saved'}`
  const extra = recoveredFromDamage > 0 ? `, ${formatCount(recoveredFromDamage)} of them from damaged places` : ''
  const gone = lostCount > 0 ? `${countRanges(lostCount, lostSize)} ${lostCount === 1 ? 'is' : 'are'}` : 'nothing is'
  shell.print(`${saved}${extra}; ${gone} lost`)
  if (!isDryRun) shell.print(`made ${escapeControls(out)}; keep ${escapeControls(file)} until you have compared them`)
  else if (!isSound) shell.print(`this was a dry run; run it with --write to make ${escapeControls(out)}`)
}
