'use strict'
// Files that are no lines of JSON in UTF-8, by their first bytes.

const START_SIZE = 8

/* eslint-disable no-control-regex -- bytes, as latin1 */
const KINDS = [
  { start: /^\x1f\x8b\x08/, what: 'compressed with gzip', command: 'gunzip -c' },
  { start: /^\x28\xb5\x2f\xfd/, what: 'compressed with zstd', command: 'zstd -dc' },
  { start: /^BZh\d/, what: 'compressed with bzip2', command: 'bunzip2 -c' },
  { start: /^\xfd7zXZ/, what: 'compressed with xz', command: 'xz -dc' },
  { start: /^(?:\xff\xfe|\xfe\xff)/, what: 'a text in UTF-16', command: 'iconv -f UTF-16 -t UTF-8' },
  { start: /^\x89FLG\r\n\x1a\n/, what: 'a log', command: 'millrace cat', isLog: true }
]
/* eslint-enable no-control-regex */

/**
 * @param {Buffer} bytes  of the beginning of a file
 * @returns {{ what: string, command: string, isLog?: boolean } | null}  what it is, and what makes lines of it; null of
 *   what may be lines
 */
function kindOf (bytes) {
  const start = bytes.toString('latin1', 0, START_SIZE)
  return KINDS.find((kind) => kind.start.test(start)) ?? null
}

exports.kindOf = kindOf
