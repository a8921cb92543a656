'use strict'
// The bugs that the torture plants can still be planted: whoever changes the source changes them too.

const tape = require('tape')
const { checkPatches, loadBugs } = require('./torture/planted')

tape('planted: every patch applies to the source, in one place', (t) => {
  const bugs = loadBugs()
  t.ok(bugs.length >= 30, `${bugs.length} bugs`)
  t.deepEqual(checkPatches(bugs), [])
  for (const { name, why, oracle } of bugs) t.ok(why && oracle, name)
  t.end()
})
