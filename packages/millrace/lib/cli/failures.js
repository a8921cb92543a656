'use strict'
// Failures as one sentence that says what to do next; and whose they are: the caller's, or the world's.

const fs = require('node:fs')
const { dirname, join } = require('node:path')
const { SEGMENT_NAME } = require('@millrace/block-file')

const SHOWN_COUNT = 10

// The path is wrong, or what it leads to is nothing that the command could work on.
const MISUSE = ['ERR_INVALID_ARGUMENT', 'ERR_CODEC_MISMATCH', 'ERR_NOT_SUPPORTED', 'ENOENT', 'EISDIR', 'ENOTDIR', 'EACCES',
  'EPERM', 'EEXIST', 'ELOOP', 'ENAMETOOLONG']

// Those of the file system say what the system call was; nobody wants to know.
/** @type {Record<string, string>} */
const SYSTEM = {
  ENOENT: 'there is no such file; check the path',
  EISDIR: 'this is a folder; give the path of a log\'s file',
  ENOTDIR: 'a part of this path is a file; check the path',
  EACCES: 'you may not open this; check who may read and write it',
  ELOOP: 'this is a symbolic link that leads to itself; check where it leads',
  ENAMETOOLONG: 'a name in this path is too long; give a shorter one',
  EPERM: 'you may not do this; check who may read and write it',
  EROFS: 'this is on a file system that cannot be written; give another path',
  EEXIST: 'something is there already; give another path, or move it away',
  ENOSPC: 'the disk is full; make room, and run the command again'
}

/** @type {Record<string, string>} */
const ADVICE = {
  ERR_LOG_CORRUPT: 'millrace verify lists the damage, millrace repair saves the rest',
  ERR_CODEC_DECODE: 'millrace cat --raw prints its bytes, millrace cat --skip-damage leaves it out'
}

/** What the packages advise to programs, in words of the command line. @type {Array<[said: RegExp, meant: string]>} */
const WORDS = [
  [/^(?:open|stream|scan|get|getMany|append|del|first|last|count|convert|createKey|revokeKey|listKeys|compact|snapshot|verify|repair|accept|createIndex|OffsetLog|SegmentedLog): /, ''],
  [/use a seq that append returned or a stream delivered/, 'millrace cat --seqs prints the seqs of records'],
  [/onCorrupt: (["'])skip\1/g, '--skip-damage'],
  [/\bonCorrupt\b/g, '--skip-damage'],
  [/the option (framing|format)\b/g, '--$1'],
  [/\bblockSize\b/g, '--block-size'],
  [/copy the bytes unchanged, leave the record out with onBadRecord, or accept such losses with verify: false/, 'leave such ' +
    'records out with --skip-bad'],
  [/leave the record out with onBadRecord, or accept such losses with verify: false/, 'leave such records out with --skip-bad'],
  [/\bonBadRecord\b/g, '--skip-bad'],
  [/: snapshot\(path, \{ where \}\)/, ' with millrace snapshot --where'],
  [/convert it to the checked framing/, 'millrace convert makes a log that does'],
  [/, or say framing: "checked"/, ''],
  [/close it there, or open it with flags "r"/, 'close it there; to read the log needs no lock'],
  [/\baccept takes the file/, 'millrace repair --accept takes the file'],
  [/; pass a (?:URL object|path), .*if that is its name/, '; give the path'],
  [/begin anew with resume: false/, 'remove it, and run the command again']
]

/**
 * @param {string} message  of a package
 * @returns {string}  the same for who types commands
 */
function inWordsOfCommand (message) {
  return WORDS.reduce((text, [said, meant]) => text.replace(said, meant), message)
}

/** @param {any} err */
function isMisuse (err) {
  return MISUSE.includes(err?.code)
}

/**
 * @param {any} err
 * @returns {string}
 */
function describeFailure (err) {
  if (!(err instanceof Error)) return String(err)
  const { code, path, message } = /** @type {any} */ (err)
  if (Object.hasOwn(SYSTEM, code) && typeof path === 'string') {
    // The folder is there; what the command looked for in it is not.
    if (code === 'ENOENT' && isFolder(path)) return describeFolder(path, 'check the path')
    return code === 'EACCES' ? describeAccess(path) : `${path}: ${SYSTEM[code]}`
  }
  if (code === 'EADDRINUSE') return `${message.replace(/^listen EADDRINUSE: /, '')}; give another --port, or end what listens there`
  const text = inWordsOfCommand(message)
  // What a compressed file needs before it is repaired, its message says.
  return Object.hasOwn(ADVICE, code) && !/\brepair\b/.test(text) ? `${text}; ${ADVICE[code]}` : text
}

/**
 * What the user of this process may not do there, and what to change.
 * @param {string} path  that could not be opened or made
 */
function describeAccess (path) {
  const folder = dirname(path)
  const advice = 'run the command as a user who may, or change that with chmod'
  const { R_OK, W_OK } = fs.constants
  const rights = Object.entries({ read: R_OK, write: W_OK }).filter(([, right]) => !mayAccess(path, right))
  const what = isFolder(path) ? 'folder' : 'file'
  if (mayAccess(path, fs.constants.F_OK)) {
    if (rights.length === 0) return `${path}: ${SYSTEM.EACCES}`
    return `${path}: you may not ${rights.map(([name]) => name).join(' or ')} this ${what}; ${advice}`
  }
  // What could not be made may have a name that nobody has given.
  if (!mayAccess(folder, fs.constants.X_OK)) return `${path}: you may not go through the folders on this path; ${advice}`
  if (mayAccess(folder, fs.constants.W_OK)) return `${path}: ${SYSTEM.EACCES}`
  return `${folder}: you may not make files in this folder; ${advice}, or give another path`
}

/** @param {string} path @param {number} right */
function mayAccess (path, right) {
  try {
    fs.accessSync(path, right)
    return true
  } catch {
    return false
  }
}

/**
 * A folder without segments. It may have logs of one file, or folders of segments, as millrace serve makes them.
 * @type {(folder: string, advice: string) => string}
 */
function describeFolder (folder, advice) {
  const file = listNames(folder, true).find((name) => /\.(?:log|jsonl|ndjson)$/.test(name))
  if (file !== undefined) return `${folder} is a folder, but not of segments; give the path of a file in it, such as ${join(folder, file)}`
  const logs = listLogs(folder)
  if (logs.length === 0) return `${folder} is a folder without a log; ${advice}`
  const more = logs.length - SHOWN_COUNT
  const shown = logs.slice(0, SHOWN_COUNT).join(', ')
  return `${folder} is a folder of ${logs.length === 1 ? 'a log' : 'logs'}; give the path of one: ${shown}${more > 0 ? ` and ${more} more` : ''}`
}

/** The folders in it that have segments. @param {string} folder @returns {string[]}  their paths */
function listLogs (folder) {
  const hasSegment = (/** @type {string} */ path) => listNames(path, true).some((name) => SEGMENT_NAME.test(name))
  return listNames(folder, false).map((name) => join(folder, name)).filter(hasSegment)
}

/** @type {(folder: string, isOfFiles: boolean) => string[]} none if it may not be read */
function listNames (folder, isOfFiles) {
  try {
    const entries = fs.readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => isOfFiles ? entry.isFile() : entry.isDirectory()).map(({ name }) => name).sort()
  } catch {
    return []
  }
}

/** @param {string} path */
function isFolder (path) {
  try {
    return fs.statSync(path).isDirectory()
  } catch {
    return false
  }
}

exports.inWordsOfCommand = inWordsOfCommand
exports.describeFolder = describeFolder
exports.listLogs = listLogs
exports.describeFailure = describeFailure
exports.isMisuse = isMisuse
