'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { eachStage, measureCase, measureRows, planTurns } = require('../engine/measure')
const { judge } = require('../engine/judge')
const { gridOfPairs, gridOfPeers, toMarkdown, toText } = require('../engine/grids')
const { Results, formatCsv, readCsv } = require('../engine/results')
const { comparedOf } = require('../engine/row')
const { DisagreementError, MeasureError, loadParts } = require('../lib/run')
const { makeFolder } = require('./support')

const rows = loadParts(require.resolve('./support/fixed-rows'))
const peers = loadParts(require.resolve('./support/fixed-peers'))
const pick = (...names) => rows.filter(({ name }) => names.includes(name))
const measure = (t, names, more) => {
  return measureRows({ rows: pick(...names), peers, runs: 2, budgetMs: Infinity, ...more }, makeFolder(t))
}

const run = (row, peer, number, figures, more) => ({ row, peer, run: number, figures, ...more })
const facts = { command: 'c', machine: 'm', node: 'n', packages: 'p', input: undefined, load: undefined }

tape('engine: each peer of a row runs in a process of its own, as often as asked', async (t) => {
  const { results, packages, skipped } = await measure(t, ['plain', 'last'])
  t.deepEqual(results.values({ row: 'plain', peer: 'millrace' }), [2, 2])
  t.deepEqual(results.values({ row: 'plain', figure: 'ms', peer: 'other' }), [3, 3])
  t.equal(results.ratio({ row: 'plain', peer: 'other' }, { peer: 'millrace' }).median, 1.5)
  t.deepEqual(packages.sort(), ['package-of-millrace', 'package-of-other'])
  t.equal(skipped, 0)
})

tape('engine: when time is up, every case has still run once', async (t) => {
  const { results, skipped } = await measure(t, ['plain', 'sizes'], { budgetMs: 0 })
  t.ok(results.runs.every(({ run }) => run === 1))
  t.equal(results.runs.length, 2 + 6)
  t.equal(skipped, 2 + 5, 'what runs once is not missed')
})

tape('engine: the first figure of a row is the first of its results, whatever is measured before it', async (t) => {
  const [peer] = peers
  const row = { peers: {}, figures: [{ figure: 'peak' }, { figure: 'rate' }], measure: async () => ({ figures: { rate: 5, peak: 7 } }) }
  const { figures } = await measureCase({ row, peer })
  t.equal(new Results([run('a', peer.name, 1, figures)]).of({ row: 'a', peer: peer.name }), 7)
})

tape('engine: another tree is compared by the first figure of a row, or by the one that the row names', (t) => {
  const figures = [{ figure: 'dropped' }, { figure: 'exit', isCompared: true }]
  t.deepEqual([comparedOf({ figures }).figure, comparedOf({ figures: figures.slice(0, 1) }).figure], ['exit', 'dropped'])
  t.end()
})

tape('engine: a row runs at each of its sizes', async (t) => {
  const { results } = await measure(t, ['sizes'], { runs: 1 })
  t.deepEqual(results.listAt('sizes'), [1, 2, 4])
  t.equal(results.of({ row: 'sizes', peer: 'other', at: 4 }), 8)
  t.equal(results.of({ row: 'sizes', peer: 'other' }), undefined, 'a size must be named')
})

tape('engine: a peer that fails is absent with its reason, without the paths of the machine; ours must not fail', async (t) => {
  const { results } = await measure(t, ['mortal', 'needy', 'no-room', 'unprepared', 'cannot'], { runs: 1 })
  t.deepEqual(results.absences, [
    { row: 'needy', peer: '*', reason: 'a golden disk' },
    { row: 'no-room', peer: '*', reason: '10 GB of room on the disk' },
    { row: 'unprepared', peer: 'other', reason: 'store is full' },
    { row: 'cannot', peer: 'third', reason: 'never syncs' },
    { row: 'mortal', peer: 'other', reason: 'made of cheese in no place' }
  ])
  t.deepEqual(results.runs.map(({ row }) => row).sort(), ['cannot', 'mortal', 'unprepared'])
  const err = await measure(t, ['ours-dies']).catch((err) => err)
  t.ok(err instanceof MeasureError && /row ours-dies, millrace: .*made of cheese/s.test(err.message), err.message)
})

tape('engine: those that did the same work must agree, with each other and with what was prepared', async (t) => {
  const liar = await measure(t, ['liar']).catch((err) => err)
  t.ok(liar instanceof DisagreementError && ['row liar', 'millrace', 'other', 'records', '5', '4'].every((word) => liar.message.includes(word)), liar.message)
  const other = await measure(t, ['unlike-prepared']).catch((err) => err)
  t.ok(other instanceof DisagreementError && other.message.includes('what was prepared'), other.message)
})

tape('engine: what was prepared is gone after its stage, and is released in reverse', async (t) => {
  const folder = makeFolder(t)
  const [plain] = pick('plain')
  const seen = []
  const staged = (stage) => ({
    ...plain,
    name: stage,
    stage,
    prepare ({ shared, onEnd, once }) {
      fs.writeFileSync(path.join(shared, 'log'), stage)
      once('made', () => seen.push(`made in ${stage}`))
      onEnd(() => seen.push(`${stage} ends, file ${fs.existsSync(path.join(shared, 'log'))}`))
      onEnd(() => seen.push(`${stage} ends first`))
    }
  })
  await eachStage({ rows: [staged('one'), staged('two')], peers }, folder, async ({ cases }) => { seen.push(cases.length) })
  t.deepEqual(seen, ['made in one', 2, 'one ends first', 'one ends, file true', 2, 'two ends first', 'two ends, file true'])
  t.deepEqual(fs.readdirSync(folder), [])
})

tape('plan: rounds are outermost, those that are compared take turns, and nobody is always first', (t) => {
  const [plain, sizes, last] = pick('plain', 'sizes', 'last')
  const [ours, other] = peers
  const casesOf = (row) => (row.at ?? [undefined]).flatMap((at) => {
    return [ours, other].filter(({ name }) => row.peers[name]).map((peer) => ({ row, peer, at }))
  })
  const turns = planTurns([plain, sizes, last].flatMap(casesOf), 3)
  const runs = turns.filter(({ row }) => row !== last).map(({ run }) => run)
  t.deepEqual(runs, [...runs].sort(), 'rounds')
  t.deepEqual(turns.slice(-2).map(({ row, run }) => `${row.name} ${run}`), ['last 2', 'last 3'], 'where time may run out')
  const firsts = [1, 2, 3].map((run) => turns.find((turn) => turn.run === run && turn.row === plain).peer.name)
  t.equal(new Set(firsts).size, 2)
  t.equal(turns.filter(({ row, peer, at }) => row === sizes && peer === other && at === 1).length, 1, 'what needs one run has one')
  for (const turn of turns) {
    const index = turns.indexOf(turn)
    const isBeside = [turns[index - 1], turns[index + 1]].some((one) => {
      return one && one.row === turn.row && one.at === turn.at && one.run === turn.run
    })
    if (turn.row === plain && !isBeside) t.fail('two that are compared are apart')
  }
  t.end()
})

tape('results: a CSV file has every figure of every run, absences and histograms, and reads back the same', (t) => {
  const [plain, sizes] = pick('plain', 'sizes')
  const results = new Results([
    run('plain', 'millrace', 1, { ms: 12.345678, scaled: 1, nothing: undefined }, { tail: [[1, 100], [2.5, 3]] }),
    run('sizes', 'other', 2, { ms: 5 }, { at: 1024 })
  ], [{ row: 'plain', peer: 'third', reason: 'not installed: "x", really' }])
  const file = path.join(makeFolder(t), 'some.csv')
  fs.writeFileSync(file, formatCsv(results, [plain, sizes], facts))
  const lines = fs.readFileSync(file, 'utf8').trim().split('\n')
  t.deepEqual(lines.filter((line) => line[0] !== '#'), [
    'row,peer,at,run,figure,value', 'plain,millrace,,1,ms,12.3457', 'plain,millrace,,1,scaled,1',
    'plain,millrace,,1,tail 1,100', 'plain,millrace,,1,tail 2.5,3', 'sizes,other,1024,2,ms,5'
  ])
  const { results: again, facts: read } = readCsv(file)
  t.deepEqual(read, { ...facts, load: facts.load ?? '', input: facts.input ?? '' })
  t.deepEqual(again.runs, results.runs)
  t.deepEqual(again.absences, results.absences)
  t.deepEqual(again.tail('plain', 'millrace'), [[1, 100], [2.5, 3]])
  const half = formatCsv(results, [sizes], facts)
  t.deepEqual([half.match(/^[a-z].*,ms,/gm).length, half.includes('absent')], [1, false], 'of the rows that are asked for')
  t.end()
})

tape('results: a ratio is taken run by run, so what slows a round slows both', (t) => {
  const results = new Results([1, 2, 9].flatMap((slow, index) => [run('a', 'x', index + 1, { ms: 2 * slow }), run('a', 'y', index + 1, { ms: slow })]))
  t.deepEqual(results.ratio({ row: 'a', peer: 'x' }, { peer: 'y' }), { median: 2, min: 2, max: 2, spread: 0 })
  t.equal(results.ratio({ row: 'a', peer: 'x' }, { peer: 'nobody' }), undefined)
  const apart = new Results([run('a', 'x', 1, { ms: 6 }), run('a', 'y', 2, { ms: 3 })])
  t.equal(apart.ratio({ row: 'a', peer: 'x' }, { peer: 'y' }).median, 2, 'without common runs: of the medians')
  t.end()
})

/** What becomes of a goal when ours, another and the least work have these figures. */
function verdictsOf (goal, unit, ours, other, least) {
  const runs = [run('a', 'millrace', 1, { f: ours }), run('a', 'other', 1, { f: other }), ...least === undefined ? [] : [run('a', 'least', 1, { f: least })]]
  return judge(new Results(runs), { name: 'a', peers: {} }, { figure: 'f', unit, goal }).map(({ verdict }) => verdict)
}

tape('judge: goals of times and of rates, met, close, missed, out of reach and absent', (t) => {
  const of = 'other'
  for (const [goal, unit, figures, verdict] of [
    [{ within: [{ factor: 1.1, of }] }, 'ms', [11, 10], 'met'],
    [{ within: [{ factor: 1.1, of }] }, 'ms', [12, 10], 'close'],
    [{ within: [{ factor: 1.1, of }] }, 'ms', [13, 10], 'missed'],
    [{ within: [{ factor: 1.1, of }], bound: 'least' }, 'ms', [13, 10, 12], 'out of reach'],
    [{ within: [{ factor: 1.1, of }], bound: 'least' }, 'ms', [13, 10, 10], 'missed'],
    [{ times: [{ factor: 4, of }] }, 'ms', [10, 40], 'met'],
    [{ times: [{ factor: 4, of }] }, 'ms', [10, 37], 'close'],
    [{ times: [{ factor: 4, of }], bound: 'least' }, 'ms', [10, 30, 8], 'out of reach'],
    [{ times: [{ factor: 0.85, of }] }, 'rate', [85, 100], 'met'],
    [{ times: [{ factor: 0.85, of }] }, 'rate', [70, 100], 'missed'],
    [{ times: [{ factor: 2, of: 'nobody' }] }, 'rate', [70, 100], 'absent'],
    [{ least: 100 }, 'rate', [100, 1], 'met'],
    [{ least: 100 }, 'rate', [91, 1], 'close'],
    [{ least: 100 }, 'rate', [90, 1], 'missed'],
    [{ most: 2 }, 'ms', [2.1, 1], 'close'],
    [{ most: 0 }, 'share', [0, 1], 'met'],
    [{ most: 0 }, 'share', [0.1, 1], 'missed'],
    [{ above: [{ by: 5, of }] }, 'ms', [15, 10], 'met'],
    [{ above: [{ by: 5, of }] }, 'ms', [20, 10], 'missed']
  ]) {
    t.deepEqual(verdictsOf(goal, unit, ...figures), [verdict], `${JSON.stringify(goal)} ${unit} ${figures}`)
  }
  const judged = judge(new Results([run('a', 'x', 1, { f: 1 })]), { name: 'a', peers: {} }, { figure: 'f', unit: 'ms', goal: { most: 5 } })
  t.deepEqual(judged, [], 'ours was not measured')
  t.deepEqual(verdictsOf({}, 'ms', 13, 10), [], 'a row without a goal is shown, and not judged')
  t.end()
})

tape('judge: of two peers the one that is less good counts, also one of another row', (t) => {
  const results = new Results([run('a', 'millrace', 1, { f: 60 }), run('a', 'fast', 1, { f: 200 }), run('a', 'slow', 1, { f: 100 }), run('b', 'millrace', 1, { f: 10 })])
  const goal = (times) => judge(results, { name: 'a', peers: {} }, { figure: 'f', unit: 'rate', goal: { times: [times] } })[0]
  t.equal(goal({ factor: 0.6, of: 'fast', or: 'slow' }).text, '>= 0.6x slow: 0.60x')
  t.equal(goal({ factor: 5, of: 'millrace', in: 'b' }).text, '>= 5x b: 6.00x')
  t.end()
})

tape('grids: the best of a line is bold, whoever it is; what was not measured is a dash', (t) => {
  const rows = [{ name: 'a', what: 'as', peers: { millrace: {}, other: {}, third: {} }, figures: [{ figure: 'f', unit: 'rate' }] }]
  const results = new Results([run('a', 'millrace', 1, { f: 50 }), run('a', 'other', 1, { f: 100 })], [{ row: 'a', peer: 'third', reason: 'gone' }])
  const grid = gridOfPeers(results, { rows, peers })
  t.deepEqual(grid.lines, [['`a`: as', '50', '**100**']])
  t.deepEqual(grid.notes, ['Absent: THIRD: gone (a)'])
  t.equal(toMarkdown(grid).split('\n')[1], '| --- | --: | --: |')
  t.equal(toText(grid, 80).split('\n')[1], 'a: as        50    100', 'without marks on a terminal')
  t.deepEqual(toText(grid, 20).split('\n').slice(0, 3), ['a: as', '  MILLRACE: 50', '  OTHER: 100'], 'line by line where it is narrow')
  t.end()
})

tape('grids: two sides with their ratio, as a time or as a speed, and what is possible', (t) => {
  const pair = (name, goal, more) => ({ name, what: `${name} : other`, peers: { millrace: {}, other: {}, least: { what: 'copy' } }, figures: [{ figure: 'f', unit: 'ms', goal, ...more }] })
  const rows = [
    pair('within', { within: [{ factor: 1.5, of: 'other' }], bound: 'least' }), pair('speed', { times: [{ factor: 4, of: 'other' }] }),
    pair('share', { within: [{ factor: 0.1, of: 'other' }] }, { unit: 'bytes', isShare: true }), pair('gone', {})
  ]
  const results = new Results(['within', 'speed', 'share'].flatMap((name) => [1, 2].flatMap((number) => [
    run(name, 'millrace', number, { f: 10 * number }), run(name, 'other', number, { f: 100 }), run(name, 'least', number, { f: 50 })
  ])))
  const grid = gridOfPairs(results, rows)
  t.deepEqual(grid.lines.map(([, , , , ...words]) => words), [
    ['0.15× (0.10-0.20)', '<= 1.5×', 'met'], ['6.67× (5.00-10.0)', '>= 4×', 'met'], ['15.00% (10.00-20.00)', '<= 10%', 'missed'], ['-', '', 'absent']
  ])
  t.deepEqual(grid.notes, ['What is possible, if the only work is to copy: `within` 0.50× at least.'])
  t.end()
})
