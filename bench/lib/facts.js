'use strict'
// What a reader has to know to judge a figure: the machine, Node and the versions. Nothing that changes by itself from
// one run to the next, such as a date, or that belongs to one computer, such as a path.

const fs = require('node:fs')
const { createRequire } = require('node:module')
const os = require('node:os')
const path = require('node:path')
const { fileOf } = require('./parts')

const GIB = 1024 ** 3

/**
 * @typedef {object} Facts
 * @property {string} command
 * @property {string} cpu  its model
 * @property {number} cores
 * @property {string} machine  all of it
 * @property {string} node
 * @property {string} packages  with versions
 * @property {string} input  what was read
 */

/**
 * @param {string} command
 * @param {import('./shapes').Stack[]} stacks
 * @param {import('./source').Source} source
 * @returns {Facts}
 */
function gatherFacts (command, stacks, source) {
  /** @type {Map<string, string>} */
  const versions = new Map()
  for (const stack of stacks) {
    for (const name of stack.packages) versions.set(name, versionOf(name, fileOf(stack)))
  }
  return {
    ...describeMachine(),
    command: withEnvironment(command),
    packages: [...versions].map(formatVersion).join(', '),
    input: describeSource(source)
  }
}

/** @returns {{ cpu: string, cores: number, machine: string, node: string }} */
function describeMachine () {
  const cpu = (os.cpus()[0]?.model ?? 'unknown CPU').replace(/\s+/g, ' ').trim()
  const cores = os.availableParallelism()
  const memory = `${Math.round(os.totalmem() / GIB)} GiB memory`
  return {
    cpu,
    cores,
    machine: `${cpu}, ${cores} cores, ${memory}, ${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version
  }
}

/**
 * @param {Iterable<string>} names  of packages that the bench would require itself; each is named once
 * @returns {string}
 */
function describePackages (names) {
  // What comes with Node.js has its version.
  const describe = (/** @type {string} */ name) => name.startsWith('node:') ? name : formatVersion([name, versionOf(name, __filename)])
  return [...new Set(names)].map(describe).join(', ')
}

/** @param {[name: string, version: string]} version */
function formatVersion ([name, version]) {
  return `${name} ${version}`
}

/** @param {import('./source').Source} source */
function describeSource (source) {
  const bytes = (/** @type {string} */ file) => fs.statSync(file).size
  return `${source.title}; ${source.records} records, ${bytes(source.json)} bytes as JSON, ` +
    `${bytes(source.binary)} as binary; ${source.hits} have value.content.root == ${source.query}`
}

/**
 * The one variable of the environment that changes a figure.
 * @param {string} command
 */
function withEnvironment (command) {
  const { MILLRACE_CRC32: crc } = process.env
  return crc === undefined ? command : `MILLRACE_CRC32=${crc} ${command}`
}

/**
 * @param {string} name
 * @param {string} from  the file that would require it
 */
function versionOf (name, from) {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    const file = path.join(folder, name, 'package.json')
    if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, 'utf8')).version
  }
  return 'not installed'
}

exports.gatherFacts = gatherFacts
exports.describeMachine = describeMachine
exports.describePackages = describePackages
exports.describeSource = describeSource
exports.versionOf = versionOf
