'use strict'

const tape = require('tape')
const { parseOptions } = require('../engine/command')
const { PINNED, adviseInstall, listMissing, loadPeer } = require('../engine/install')
const { findVersion } = require('../lib/report')
const { TABLES, loadTable } = require('..')
const { dependencies, optionalDependencies } = require('../package.json')

const peer = (name, ...packages) => ({ name, label: name, kind: 'x', packages })
const row = (needs, ...names) => ({ name: 'row', peers: Object.fromEntries(names.map((name) => [name, {}])), needs, figures: [] })

tape('install: every version is exact, and the one that the bench itself depends on', (t) => {
  for (const [name, version] of Object.entries(PINNED)) {
    t.ok(/^\d+\.\d+\.\d+$/.test(version), `${name} ${version}`)
    t.equal({ ...dependencies, ...optionalDependencies }[name] ?? version, version, name)
  }
  t.end()
})

tape('install: a package of a table that not everybody has is in the list', (t) => {
  for (const table of TABLES.map(loadTable)) {
    for (const name of table.peers.flatMap(({ packages = [] }) => packages)) {
      const isOurs = name.startsWith('@millrace/') || { ...dependencies, ...optionalDependencies }[name] !== undefined
      t.ok(isOurs || PINNED[name] !== undefined, `${table.name}: ${name}`)
    }
  }
  t.end()
})

tape('install: only what the chosen rows and peers need is missing, and not what nobody pinned', (t) => {
  const missing = Object.keys(PINNED).filter((name) => findVersion(name) === undefined)
  const [all, some] = [peer('all', ...Object.keys(PINNED), 'no-such-package'), peer('some', 'flumelog-offset')]
  t.deepEqual(listMissing({ rows: [row({}, 'all', 'some')], peers: [all, some] }), missing)
  t.deepEqual(listMissing({ rows: [row({}, 'all', 'some')], peers: [some] }), [])
  t.deepEqual(listMissing({ rows: [row({}, 'some')], peers: [all, some] }), [], 'a peer that takes part in no row')
  const needs = Object.fromEntries(missing.map((name) => [name, () => {}]))
  t.deepEqual(listMissing({ rows: [row(needs)], peers: [] }), missing)
  t.end()
})

tape('install: a run says what is absent, what stands in for it, and the command that brings it', (t) => {
  const names = Object.keys(PINNED).filter((name) => findVersion(name) === undefined)
  const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined
  const all = { ...peer('all', ...names), standIns: { 'better-sqlite3': 'node:sqlite', lmdb: 'node:no-such-module' } }
  const lines = adviseInstall({ rows: [row({}, 'all')], peers: [all] }, 'npm run bench -- peers')
  for (const name of names) {
    const line = lines.find((line) => line.includes(name))
    t.ok(line?.endsWith(': npm run bench -- peers --install'), `${name}: ${line}`)
    t.equal(line?.startsWith('node:sqlite of Node.js stands in'), name === 'better-sqlite3' && hasSqlite)
  }
  const [short = 'npm run bench -- --install'] = adviseInstall({ rows: [row({}, 'all')], peers: [all] }, 'npm run bench')
  t.ok(short.endsWith('npm run bench -- --install'), short)
  t.deepEqual(adviseInstall({ rows: [], peers: [] }, 'c'), [])
  t.throws(() => loadPeer('no-such-package'), { code: 'MODULE_NOT_FOUND' })
  t.end()
})

tape('options: a peer that is given as a module takes part in every row', (t) => {
  const { rows, peers } = parseOptions(loadTable('layers'), ['--peers', `checked,${require.resolve('./support/wide-stack')}`])
  t.deepEqual(peers.map(({ name }) => name), ['checked', 'wide'])
  for (const { name, peers } of rows) t.ok(peers.wide, name)
  t.end()
})
