'use strict'
// The commands, in the order in which help lists them. Each is loaded when it is needed: the one that runs does not
// wait for the others.

/** @typedef {import('./definition').Definition} Definition */

/** @type {Record<string, () => { command: Definition }>} */
const loaders = {
  info: () => require('./commands/info'),
  cat: () => require('./commands/cat'),
  tail: () => require('./commands/tail'),
  get: () => require('./commands/get'),
  count: () => require('./commands/count'),
  append: () => require('./commands/append'),
  import: () => require('./commands/import'),
  export: () => require('./commands/export'),
  convert: () => require('./commands/convert'),
  del: () => require('./commands/del'),
  compact: () => require('./commands/compact'),
  index: () => require('./commands/index'),
  verify: () => require('./commands/verify'),
  repair: () => require('./commands/repair'),
  snapshot: () => require('./commands/snapshot'),
  ship: () => require('./commands/ship'),
  serve: () => require('./commands/serve'),
  keys: () => require('./commands/keys'),
  view: () => require('./commands/view'),
  bench: () => require('./commands/bench'),
  completion: () => require('./commands/completion')
}

const commandNames = Object.freeze(Object.keys(loaders))

/**
 * @param {string} name  one of `commandNames`
 * @returns {Definition}
 */
function loadCommand (name) {
  return loaders[name]().command
}

exports.commandNames = commandNames
exports.loadCommand = loadCommand
