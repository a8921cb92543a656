'use strict'

const fs = require('node:fs')
const { fileStorage } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const { SegmentedLog, listSegments } = require('@millrace/segmented-log')
const { escapeControls } = require('@millrace/flow')
const { createLineCodec } = require('../line-codecs')
const { CommandIndex, INDEXED, INDEXED_FRAMINGS, findPaths, folderOf, listIndex } = require('../log-index')
const { formatIndexPath, formatIndexPaths, parseIndexPath } = require('../index-paths')
const { countRecords, describeSize, printFields } = require('../report')
const { chooseCodec, identify, isFolder, openIdentified } = require('../source')
const { formatCount } = require('../text')
const { describeWriter, readWriter } = require('../writer-record')
const { codecs, open } = require('../../open')

/**
 * @typedef {import('../definition').Call} Call
 * @typedef {import('../source').Identity} Identity
 * @typedef {import('../../open').CodecName} CodecName
 * @typedef {import('@millrace/index').PathOptions} PathOptions
 */

const ACTIONS = ['list', 'verify', 'drop']

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'index',
  summary: 'makes an index of fields beside a log, lists it, verifies it or removes it',
  details: 'With --path or --range, it reads the records that are not indexed yet, and writes FILE.index, or FOLDER/index; cat, tail, count and ' +
    'export with --where use it by themselves, and scan what was appended since. To bring it up to date, run the same command ' +
    'again. Other paths replace the index. No other process may write the log meanwhile; a program keeps an index up to date ' +
    'with the option index of open. Without an option, it lists the index. Checked logs of JSON and binary records can have one, and text files of JSON Lines.',
  arguments: [{ name: 'file', description: 'the log: a file, or a folder of segments' }],
  options: [
    {
      flags: '--path <path>',
      description: 'a field, such as type or user.id; tags[*] for each element of an array, links[*].to for a field in each. It ' +
        'may be repeated',
      parse: parseIndexPath,
      isList: true
    },
    {
      flags: '--range <path>',
      description: 'a field whose numbers and times are also found by ranges, such as price. It may be repeated',
      parse: parseIndexPath,
      isList: true
    },
    { flags: '--list', description: 'list the runs, which are the files of the index, and say whether each can be used' },
    { flags: '--verify', description: 'compare answers of the index with a scan; exit code 1 if they differ' },
    { flags: '--all', description: 'with --verify: of every key, not of some hundred' },
    { flags: '--drop', description: 'remove the index' },
    { flags: '--codec <name>', description: 'the codec of the records, if the log does not name it', choices: INDEXED },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [
    ['millrace index events.log --path user --path \'tags[*]\' --range price', 'records are found by user, by tag, by ranges of price'],
    ['millrace index events.log --verify', 'whether its answers are right']
  ],
  async run (call) {
    const { args, options } = call
    const paths = listPaths(options)
    const actions = ACTIONS.filter((name) => options[name])
    if (actions.length + (paths.length > 0 ? 1 : 0) > 1) {
      throw misuse('give --path and --range, or --list, or --verify, or --drop, not several of them')
    }
    if (options.all && !options.verify) throw misuse('--all needs --verify')
    if (args.file === '-') throw misuse('a log on standard input has no files beside it; give the path of a log')
    if (options.drop) return drop(call)
    const identity = isFolder(args.file) ? await identifySegments(args.file) : await identify(args.file)
    if (paths.length > 0) return build(call, identity, paths)
    return options.verify ? verify(call, identity) : list(call, identity)
  }
}

/** @param {string} folder @returns {Promise<Identity>} */
async function identifySegments (folder) {
  const { identifyFolder, refuseFolder } = require('../folder')
  const isOfSlots = require('../slots').listSlots(folder).length > 0
  if (isOfSlots || (await listSegments(folder)).length === 0) await refuseFolder(folder, 'the command makes an index of one log')
  return identifyFolder(folder)
}

/** @param {Record<string, any>} options @returns {PathOptions[]} */
function listPaths ({ path = [], range = [] }) {
  return [...path, ...range.map((/** @type {PathOptions} */ options) => ({ ...options, range: true }))]
}

/** @type {(call: Call, identity: Identity) => Promise<CodecName>} */
async function chooseIndexed ({ options }, identity) {
  const { path, framing } = identity
  if (framing === null) throw misuse(`${path} is empty: there is nothing to index`)
  if (!INDEXED_FRAMINGS.includes(framing)) {
    throw new LogError('ERR_NOT_SUPPORTED', `${path} is a log of ${framing}, beside which no index is kept; millrace convert makes ` +
      'a checked log of it')
  }
  const codec = options.codec ?? /** @type {any} */ (identity).guessed ?? await chooseCodec(identity)
  if (!INDEXED.includes(codec)) throw misuse(`${path} has records of bytes, which have no fields`)
  return codec
}

/** @type {(call: Call, identity: Identity, paths: PathOptions[]) => Promise<void>} */
async function build (call, identity, paths) {
  const { options, shell } = call
  // What cannot be declared is told before anything is opened.
  const { paths: names } = require('@millrace/index').createIndex(paths)
  const codec = await chooseIndexed(call, identity)
  const progress = shell.progress('indexing')
  const onProgress = (/** @type {number} */ seq, /** @type {number} */ end) => progress.update(seq, end)
  const index = new CommandIndex(folderOf(identity.path), paths, codec, { onProgress })
  const log = openToWrite(identity, codec, index)
  let status
  try {
    await log.ready()
    if (index.isReadOnly) {
      throw new LogError('ERR_LOG_READ_ONLY', `${identity.path} is damaged, and gets no index; millrace verify lists the ` +
        'damage, millrace repair makes a new log of the rest')
    }
    // What is written by then stays, and the next call goes on.
    shell.onAbort(() => log.close(() => {}))
    await index.index?.flush()
    shell.throwIfAborted()
    status = /** @type {import('@millrace/index').IndexStatus} */ (index.index?.status())
  } finally {
    progress.end()
    await log.close()
  }
  const { records, runs, size } = status
  const empty = await listEmptyPaths(identity.path, names)
  if (options.json) return shell.print(JSON.stringify({ path: index.folder, paths: names, records, runs, size, empty }))
  shell.print(`${countRecords(records)} indexed by ${escapeControls(formatIndexPaths(paths))}`)
  shell.print(`${escapeControls(index.folder)}: ${describeSize(size)}, ${describeShare(size, identity.size)}`)
  for (const name of empty) {
    shell.complain(`millrace: no record has a text, a number or a boolean at ${escapeControls(name)}: is it spelt like that? a ` +
      'field in another is a.b, each element of an array a[*]\n')
  }
}

/** Without its ranges. @param {PathOptions} path */
function nameOf (path) {
  return formatIndexPath({ ...path, range: false })
}

/** Those of an index that has no value of them. @type {(path: string, names: string[]) => Promise<string[]>} */
async function listEmptyPaths (path, names) {
  const runs = await listIndex(path)
  if (runs.length === 0) return []
  const seen = new Set(runs.flatMap(({ paths, values }) => paths.filter((_, slot) => values[slot] > 0).map(nameOf)))
  return names.filter((name) => !seen.has(name))
}

/** @type {(identity: Identity, codec: CodecName, index: CommandIndex) => any} */
function openToWrite ({ path, segments }, codec, index) {
  if (segments !== undefined) return SegmentedLog(path, { codec: codecs[codec], index })
  return open(path, { codec: codecs[codec], mustExist: true, index: /** @type {any} */ (index) })
}

/** @param {number} size @param {number} logSize */
function describeShare (size, logSize) {
  const share = Number((100 * size / logSize).toPrecision(2))
  return `${share < 100 ? share : formatCount(share)}% of the log`
}

/** @typedef {{ index: CommandIndex, codec: CodecName, paths: PathOptions[] }} Found */

/** The index that is beside a log. @type {(call: Call, identity: Identity) => Promise<Found | null>} */
async function findAny (call, identity) {
  const codec = await chooseIndexed(call, identity)
  const folder = folderOf(identity.path)
  const runs = await listIndex(identity.path)
  const paths = findPaths(runs)
  if (paths !== null) return { index: new CommandIndex(folder, paths, codec), codec, paths }
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : []
  if (names.some((name) => name.endsWith('.run'))) {
    throw new Error(`${folder} is damaged: no file in it can be read. Answers are right all the same, by scans; remove it ` +
      'with --drop, and make it again with --path')
  }
  return null
}

/** @type {(call: Call, identity: Identity) => Promise<number>} */
async function list (call, identity) {
  const { options, shell } = call
  const found = await findAny(call, identity)
  if (found === null) {
    const none = { path: folderOf(identity.path), paths: [], records: 0, size: 0, runs: [] }
    if (options.json) shell.print(JSON.stringify(none))
    else shell.print(`there is no index beside ${escapeControls(identity.path)}; --path makes one`)
    return 0
  }
  const { index, codec, paths } = found
  const log = openIdentified(identity, createLineCodec(codec, false), index)
  try {
    await log.ready()
    const reasons = new Map((await index.index?.inspect() ?? []).map(({ name, why }) => [name, why]))
    const runs = await listIndex(identity.path)
    const known = runs.map(({ codec, ...run }) => ({ ...run, why: reasons.get(run.name) ?? null }))
    const isKnown = (/** @type {string} */ name) => runs.some((run) => run.name === name)
    const damaged = [...reasons].filter(([name]) => !isKnown(name)).map(([name, why]) => ({ name, why }))
    printRuns(call, { identity, index, paths, known, damaged, since: Number(log.since.value) })
    return damaged.length > 0 || known.some(({ why }) => why !== null) ? 1 : 0
  } finally {
    await log.close()
  }
}

/**
 * @typedef {Omit<import('@millrace/index').RunInfo, 'codec'> & { why: string | null }} KnownRun
 * @type {(call: Call, found: { identity: Identity, index: CommandIndex, paths: PathOptions[], known: KnownRun[],
 *   damaged: Array<{ name: string, why: string | null }>, since: number }) => void}
 */
function printRuns ({ options, shell }, { identity, index, paths, known, damaged, since }) {
  const used = known.filter(({ why }) => why === null)
  const records = used.reduce((sum, { records }) => sum + records, 0)
  const size = known.reduce((sum, { size }) => sum + size, 0)
  if (options.json) {
    const names = paths.map(formatIndexPath)
    const runs = [...known, ...damaged]
    return shell.print(JSON.stringify({ path: index.folder, paths: names, records, size, runs }))
  }
  const end = used[used.length - 1]?.to ?? 0
  printFields(shell, [
    ['index', index.folder],
    ['paths', formatIndexPaths(paths)],
    ['size', `${describeSize(size)}, ${describeShare(size, identity.size)}`],
    ['records', formatCount(records)],
    ['not in it', since >= end ? `what was appended from the seq ${end} on; each read scans it` : 'nothing'],
    ...known.map((run) => /** @type {[string, string]} */ (['run', describeRun(run, paths)])),
    ...damaged.map(({ name, why }) => /** @type {[string, string]} */ (['run', `${name}: not used: ${why}`]))
  ])
}

/** @type {(run: KnownRun, declared: PathOptions[]) => string} */
function describeRun ({ from, to, records, size, paths, why }, declared) {
  const others = JSON.stringify(paths) === JSON.stringify(declared) ? '' : ` (${formatIndexPaths(paths)})`
  const what = `seqs from ${from} to below ${to}: ${countRecords(records)}, ${describeSize(size)}`
  return why === null ? what : `${what}; not used: ${why}${others}`
}

/** @type {(call: Call, identity: Identity) => Promise<number>} */
async function verify (call, identity) {
  const { options, shell } = call
  const found = await findAny(call, identity)
  if (found === null) throw new LogError('ENOENT', `there is no index beside ${identity.path}; millrace index --path makes one`)
  const { index, codec, paths } = found
  const { compareWithScan } = require('../index-check')
  const asked = { index, codec, paths, isAll: options.all === true }
  const { keys, differences, runs } = await compareWithScan(shell, identity, asked)
  const isRight = differences.length === 0
  if (options.json) {
    shell.print(JSON.stringify({ path: index.folder, isRight, keys, runs, differences }))
    return isRight ? 0 : 1
  }
  for (const { where, found, expected, seq } of differences) {
    const first = seq === null ? '' : `; the first one that it misses has the seq ${seq}`
    const what = `${JSON.stringify(where)}: ${countRecords(found)}, and a scan finds ${formatCount(expected)}${first}`
    shell.print(shell.style('red', escapeControls(what)))
  }
  if (runs === 0) shell.print('no run is used, so all of this was scanned; --list says why')
  const verdict = isRight ? shell.style('green', 'right') : shell.style('red', 'WRONG; remove it with --drop')
  shell.print(`${escapeControls(index.folder)}: ${verdict}; ${formatCount(keys)} key${keys === 1 ? '' : 's'} compared with a scan`)
  return isRight ? 0 : 1
}

/** @param {Call} call */
async function drop ({ args, options, shell }) {
  // The log need not be there any more, nor be readable.
  const folder = folderOf(args.file)
  const isThere = fs.existsSync(folder)
  if (!isThere && !fs.existsSync(args.file)) throw new LogError('ENOENT', '', { path: args.file })
  const count = await require('@millrace/index').removeRuns(fileStorage, folder)
  if (isThere) removeFolder(folder)
  const writer = readWriter(args.file)
  if (writer !== null && writer.isAlive !== false) {
    const who = escapeControls(describeWriter(writer))
    shell.complain(`millrace: ${who}, writes the log: if it uses the index, it may make it again\n`)
  }
  if (options.json) shell.print(JSON.stringify({ path: folder, removed: count }))
  else shell.print(count === 0 ? `there was no index beside ${escapeControls(args.file)}` : `${formatCount(count)} run${count === 1 ? '' : 's'} removed`)
}

/** @param {string} folder  stays if something else is in it */
function removeFolder (folder) {
  try {
    fs.rmdirSync(folder)
  } catch (/** @type {any} */ err) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(err.code)) throw err
  }
}
