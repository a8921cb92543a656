'use strict'
// How figures are written: medians, text tables, and the facts that a reader needs to judge a figure.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const GIB = 1024 ** 3
/** Where `--install` brings the peers that are no dependencies. */
const PEERS_FOLDER = path.join(__dirname, '..', 'installed')

/**
 * @typedef {object} Summary
 * @property {number} median
 * @property {number} min
 * @property {number} max
 * @property {number} spread  max - min, as a fraction of the median
 */

/**
 * @param {number[]} values  at least one
 * @returns {number}  the middle one, or the mean of the two in the middle
 */
function median (values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * @param {number[]} values
 * @returns {Summary}
 */
function summarize (values) {
  const [middle, min, max] = [median(values), Math.min(...values), Math.max(...values)]
  return { median: middle, min, max, spread: middle === 0 ? 0 : (max - min) / middle }
}

/** @param {number} ms */
function formatMs (ms) {
  return ms < 10 ? ms.toFixed(1) : formatCount(Math.round(ms))
}

/** @param {number} count */
function formatCount (count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** More than three digits would only be noise. @param {number} value */
function formatDigits (value) {
  const rounded = Number(value.toPrecision(3))
  return rounded < 1000 ? String(rounded) : formatCount(Math.round(rounded))
}

/** @param {number} rate  a second */
function formatThousands (rate) {
  return formatDigits(rate / 1000)
}

/** @param {number} bytes */
function formatKib (bytes) {
  return `${bytes / 1024} KiB`
}

/**
 * @param {number} bytes
 * @returns {string}  in decimal units: 10 GB
 */
function formatSize (bytes) {
  const [unit, factor] = Object.entries({ KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }).findLast(([, factor]) => Number((bytes / factor).toPrecision(3)) >= 1) ?? ['bytes', 1]
  return `${Number((bytes / factor).toPrecision(3))} ${unit}`
}

/**
 * Figures are aligned at their end; words at their beginning.
 * @param {string[][]} rows  the heads among them
 * @param {string} gap  between two columns
 * @param {(column: number) => boolean} [isWords]  which columns are words; the first by default
 * @returns {string[]}  a line a row, without spaces at its end
 */
function alignColumns (rows, gap, isWords = (column) => column === 0) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows.map((row) => row.map((text, column) => {
    return isWords(column) ? text.padEnd(widths[column]) : text.padStart(widths[column])
  }).join(gap).trimEnd())
}

/**
 * @typedef {object} Facts
 * @property {string} command
 * @property {string} machine  its processor and cores first
 * @property {string} node
 * @property {string} packages  with versions
 * @property {string} [input]  what was read
 * @property {string} [load]  what else the machine did meanwhile
 */

/**
 * Nothing that changes from one run to the next by itself, such as a date, or that belongs to one computer, such as a
 * path.
 * @param {string} command
 * @param {string[]} packages  that are used; each is named once
 * @param {string} [input]
 * @param {string} [load]
 * @returns {Facts}
 */
function gatherFacts (command, packages, input, load) {
  const { MILLRACE_CRC32: crc } = process.env
  const cpu = (os.cpus()[0]?.model ?? 'unknown CPU').replace(/\s+/g, ' ').trim()
  const cores = os.availableParallelism()
  return {
    // The one variable of the environment that changes a figure.
    command: crc === undefined ? command : `MILLRACE_CRC32=${crc} ${command}`,
    machine: `${cpu}, ${cores} cores, ${Math.round(os.totalmem() / GIB)} GiB memory, ${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
    packages: [...new Set(packages)].map(describePackage).join(', '),
    input,
    load
  }
}

/** @param {string} name */
function describePackage (name) {
  // What comes with Node.js has its version.
  if (name.startsWith('node:')) return name
  return `${name} ${findVersion(name) ?? 'not installed'}`
}

/** Of a package, if it is installed. @param {string} name @returns {string | undefined} */
function findVersion (name) {
  const folders = [path.join(PEERS_FOLDER, 'node_modules'), ...require.resolve.paths(name) ?? []]
  const file = folders.map((folder) => path.join(folder, name, 'package.json')).find((file) => fs.existsSync(file))
  return file && JSON.parse(fs.readFileSync(file, 'utf8')).version
}

/** A line below a table. @param {Facts} facts */
function describeFacts ({ command, machine, node, packages, input }) {
  return `\`${command}\` on ${machine}, Node ${node}${packages && `; ${packages}`}.${input ? ` ${input}.` : ''}`
}

/**
 * @param {string[]} heads
 * @param {string[][]} lines
 * @param {(column: number) => boolean} [isWords]  which columns are words; the first by default
 */
function formatMarkdown (heads, lines, isWords = (column) => column === 0) {
  const rule = heads.map((_, column) => isWords(column) ? '---' : '--:')
  return [heads, rule, ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

exports.median = median
exports.summarize = summarize
exports.formatMs = formatMs
exports.formatCount = formatCount
exports.formatDigits = formatDigits
exports.formatThousands = formatThousands
exports.formatKib = formatKib
exports.formatSize = formatSize
exports.alignColumns = alignColumns
exports.gatherFacts = gatherFacts
exports.findVersion = findVersion
exports.PEERS_FOLDER = PEERS_FOLDER
exports.describeFacts = describeFacts
exports.formatMarkdown = formatMarkdown
