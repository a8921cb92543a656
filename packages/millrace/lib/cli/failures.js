'use strict'
// Failures as one sentence that says what to do next; and whose they are: the caller's, or the world's.

const fs = require('node:fs')
const { join } = require('node:path')

// The path is wrong, or what it leads to is nothing that the command could work on.
const MISUSE = ['ERR_INVALID_ARGUMENT', 'ERR_CODEC_MISMATCH', 'ERR_NOT_SUPPORTED', 'ENOENT', 'EISDIR', 'ENOTDIR', 'EACCES',
  'EPERM', 'EEXIST']

// Those of the file system say what the system call was; nobody wants to know.
/** @type {Record<string, string>} */
const SYSTEM = {
  ENOENT: 'there is no such file; check the path',
  EISDIR: 'this is a folder; give the path of a log\'s file',
  ENOTDIR: 'a part of this path is a file; check the path',
  EACCES: 'you may not open this; check who may read and write it',
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
    return `${path}: ${SYSTEM[code]}`
  }
  if (code === 'EADDRINUSE') return `${message.replace(/^listen EADDRINUSE: /, '')}; give another --port, or end what listens there`
  const text = inWordsOfCommand(message)
  // What a compressed file needs before it is repaired, its message says.
  return Object.hasOwn(ADVICE, code) && !/\brepair\b/.test(text) ? `${text}; ${ADVICE[code]}` : text
}

/**
 * A folder in which there are no segments. It may have logs of one file.
 * @type {(folder: string, advice: string) => string}
 */
function describeFolder (folder, advice) {
  const file = listFiles(folder).find((name) => /\.(?:log|jsonl|ndjson)$/.test(name))
  if (file === undefined) return `${folder} is a folder without a log; ${advice}`
  return `${folder} is a folder, but not of segments; give the path of a file in it, such as ${join(folder, file)}`
}

/** @param {string} folder @returns {string[]}  none if it may not be read */
function listFiles (folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => name)
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
exports.describeFailure = describeFailure
exports.isMisuse = isMisuse
