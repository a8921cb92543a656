'use strict'
// What a reader has to know to judge a figure: the machine, Node and the versions. Nothing that changes by itself from
// one run to the next, such as a date, or that belongs to one computer, such as a path.

const fs = require('node:fs')
const { createRequire } = require('node:module')
const os = require('node:os')
const path = require('node:path')
const { fileOf } = require('./registry')

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
  const cpu = (os.cpus()[0]?.model ?? 'unknown CPU').replace(/\s+/g, ' ').trim()
  const cores = os.availableParallelism()
  const memory = `${Math.round(os.totalmem() / GIB)} GiB memory`
  const bytes = (/** @type {string} */ file) => fs.statSync(file).size
  return {
    command,
    cpu,
    cores,
    machine: `${cpu}, ${cores} cores, ${memory}, ${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
    packages: stacks.flatMap((stack) => stack.packages.map((name) => `${name} ${versionOf(name, stack)}`)).join(', '),
    input: `${source.title}; ${source.records} records, ${bytes(source.json)} bytes as JSON, ` +
      `${bytes(source.binary)} as binary; ${source.hits} have value.content.root == ${source.query}`
  }
}

/**
 * @param {string} name
 * @param {import('./shapes').Stack} stack  resolved from where it is, since it need not be one of this folder
 */
function versionOf (name, stack) {
  const { paths } = createRequire(fileOf(stack)).resolve
  for (const folder of paths(name) ?? []) {
    const file = path.join(folder, name, 'package.json')
    if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, 'utf8')).version
  }
  return 'of unknown version'
}

exports.gatherFacts = gatherFacts
