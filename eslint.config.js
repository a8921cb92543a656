'use strict'

const neostandard = require('neostandard')

const TIMERS = ['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval']
const STEPPED = ['flow', 'block-file', 'offset-log', 'segmented-log', 'log-writer']

module.exports = [
  ...neostandard({ ignores: ['coverage/**', 'data/**', 'images/**'] }),
  {
    rules: {
      'max-len': ['error', { code: 120, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 15]
    }
  },
  {
    // Tests of programs that use a log replace these, as jest and sinon do by default. What is taken when a module is
    // loaded goes on.
    files: ['packages/*/lib/**/*.js', 'packages/*/*.js'],
    ignores: ['packages/testkit/**', 'packages/millrace/viewer/**'],
    rules: {
      'no-restricted-globals': ['error', ...TIMERS.map((name) => ({ name, message: 'Take it from node:timers.' }))],
      'no-restricted-properties': ['error', { object: 'process', property: 'nextTick', message: 'Take it from node:process.' }]
    }
  },
  {
    // The torture, the fuzzers and some tests step through the time of these packages.
    files: STEPPED.map((name) => `packages/${name}/lib/**/*.js`),
    rules: {
      'no-restricted-globals': ['error', ...TIMERS.slice(0, 2).map((name) => ({ name, message: 'Take it from node:timers.' }))]
    }
  },
  {
    // For a browser. Its names are known to the types, and uPlot is the name of a class.
    files: ['**/*.mjs'],
    rules: { 'no-undef': 'off', 'new-cap': 'off', 'accessor-pairs': 'off' }
  },
  {
    files: ['**/test/**', 'packages/testkit/**'],
    rules: { 'max-lines-per-function': 'off', 'max-lines': 'off', complexity: 'off' }
  }
]
