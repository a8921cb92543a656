// @ts-nocheck
'use strict'
// All that is fuzzed, in the order of the figures. A target is a module of this shape: see `Target` in ../examine.js.

/** @type {import('../examine').Target[]} */
exports.targets = [
  require('./records'),
  require('./parts'),
  require('./logs'),
  require('./verify'),
  require('./repair')
]
