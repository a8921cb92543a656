'use strict'

const tape = require('tape')
const { compareRuns, topOf } = require('../lib/inspect')
const { Results } = require('../lib/tables')

const frame = (functionName, file, lineNumber = 0) => ({ functionName, url: file && `file:///somewhere/${file}`, lineNumber })

tape('inspect: the functions that took the most time, of all threads, without waiting and loading', (t) => {
  const nodes = [
    { id: 1, callFrame: frame('(root)', '') },
    { id: 2, callFrame: frame('(idle)', '') },
    { id: 3, callFrame: frame('append', 'log.js', 9) },
    { id: 4, callFrame: frame('(garbage collector)', '') },
    { id: 5, callFrame: { functionName: 'wrapSafe', url: 'node:internal/modules/cjs/loader', lineNumber: 1 } },
    { id: 6, callFrame: frame('', 'codec.js') }
  ]
  const profile = { nodes, samples: [1, 2, 3, 4, 5, 6, 3], timeDeltas: [5, 500, 20, 10, 100, 40, 5] }
  t.deepEqual(topOf([profile, profile]), [
    { name: '(anonymous), codec.js:1', share: 40 / 75 },
    { name: 'append, log.js:10', share: 25 / 75 },
    { name: '(garbage collector)', share: 10 / 75 }
  ])
  t.end()
})

tape('inspect: two runs are compared figure by figure, of whoever is in both', (t) => {
  const of = (value, other) => new Results([
    { row: 'one', figure: 'rate', peer: 'millrace', values: [value, value, 2 * value] },
    { row: 'one', figure: 'rate', peer: 'bare', values: [other] },
    { row: 'two', figure: 'rate', peer: 'millrace', values: [] }
  ])
  const rows = ['one', 'two'].map((name) => ({ name, lines: [{ figure: 'rate', what: `row ${name}` }] }))
  const peers = [{ name: 'millrace', label: 'Millrace' }, { name: 'bare', label: 'bare' }, { name: 'absent', label: 'absent' }]
  t.equal(compareRuns(of(30, 8), of(20, 10), rows, peers), [
    '| this run / the earlier one | Millrace | bare |',
    '| --- | --: | --: |',
    '| `one`: row one | 1.50 | 0.80 |'
  ].join('\n'))
  t.equal(compareRuns(of(30, 8), new Results([]), rows, peers), 'No figure is in both runs.')
  t.end()
})
