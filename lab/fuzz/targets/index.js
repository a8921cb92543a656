'use strict'
// All that is fuzzed, in the order of the figures. A target is a module of this shape: see `Target` in ../examine.js.

exports.targets = /** @type {import('../examine').Target[]} */ (/** @type {unknown[]} */ ([
  require('./records'),
  require('./parts'),
  require('./logs'),
  require('./verify'),
  require('./repair'),
  require('./lines'),
  require('./runs')
]))
