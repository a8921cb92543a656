'use strict'

const tape = require('tape')
const { LOOKS, chancesOfRankSum, chancesOfSignedRanks, compareCases, compareSaved, describeSaved, formatCompared } = require('../engine/compare')
const { createPrng } = require('../lib/prng')

const FOREVER = 1e9

/** Figures from a list for each tree, one after the other; the last one again and again. */
function createCase (name, lists, better = 'less') {
  const taken = { this: 0, that: 0 }
  return { name, better, measure: async (tree) => lists[tree][Math.min(taken[tree]++, lists[tree].length - 1)] }
}

/**
 * A machine that others use: its clock, and readings that drift, hang together, have heavy tails, and double and more
 * while there is a burst of load.
 */
function createMachine (seed, noise) {
  const { fraction } = createPrng(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - fraction())) * Math.cos(2 * Math.PI * fraction())
  const phase = fraction()
  let [seconds, memory, burst, until] = [0, 0, 1, 0]
  return {
    random: fraction,
    now: () => seconds * 1000,
    read (factor) {
      if (seconds > until) {
        burst = burst === 1 && fraction() < 0.4 ? 1 + 2 * fraction() : 1
        until = seconds - 30 * Math.log(1 - fraction())
      }
      memory = 0.9 * memory + noise / 2 * normal()
      // Student's t with three degrees of freedom.
      const heavy = noise * normal() / Math.sqrt((normal() ** 2 + normal() ** 2 + normal() ** 2) / 3)
      const drift = 0.2 * Math.sin(2 * Math.PI * (seconds / 200 + phase))
      seconds += 0.6 * burst
      return 10 * burst * Math.exp(memory + heavy + drift) * factor
    }
  }
}

/** How often each verdict comes out when this tree is slower by the factor. */
async function simulate (runs, factor, noise, options) {
  const verdicts = { slower: 0, faster: 0, 'no difference seen': 0 }
  for (let seed = 1; seed <= runs; seed++) {
    const machine = createMachine(seed, noise)
    const measure = async (tree) => machine.read(tree === 'this' ? factor : 1)
    const { rows: [row] } = await compareCases({ cases: [{ name: 'a', better: 'less', measure }], ...machine, ...options })
    verdicts[row.verdict]++
  }
  return verdicts
}

tape('compare: chances of signed ranks are those of all tosses, counted', (t) => {
  for (const count of [1, 2, 5, 12]) {
    const expected = new Array(count * (count + 1) / 2 + 1).fill(0)
    for (let tosses = 0; tosses < 2 ** count; tosses++) {
      let sum = 0
      for (let rank = 1; rank <= count; rank++) if (tosses >> (rank - 1) & 1) sum += rank
      expected[sum] += 2 ** -count
    }
    t.deepEqual([...chancesOfSignedRanks(count)], expected, `${count}`)
  }
  t.end()
})

tape('compare: chances of rank sums are those of all choices, counted', (t) => {
  for (const [few, many] of [[1, 1], [2, 3], [3, 2], [4, 4]]) {
    const counts = new Array(few * many + 1).fill(0)
    for (let chosen = 0; chosen < 2 ** (few + many); chosen++) {
      const ranks = Array.from({ length: few + many }, (_, rank) => rank)
      const own = ranks.filter((rank) => chosen >> rank & 1)
      if (own.length !== few) continue
      counts[own.flatMap((rank) => ranks.filter((other) => !own.includes(other) && other < rank)).length]++
    }
    const all = counts.reduce((sum, count) => sum + count)
    const chances = [...chancesOfRankSum(few, many)]
    t.ok(chances.every((chance, index) => Math.abs(chance - counts[index] / all) < 1e-12), `${few} and ${many}`)
  }
  t.end()
})

tape('compare: the least number of pairs shows a difference when all point one way, one pair less cannot', async (t) => {
  const lists = { this: [11], that: [10] }
  const { rows: [row] } = await compareCases({ cases: [createCase('a', lists)], budgetMs: FOREVER })
  t.deepEqual([row.verdict, row.pairs, row.isTooSlow], ['slower', LOOKS[0], true])
  t.ok(Math.abs(row.ratio - 1.1) < 1e-9 && Math.abs(row.low - 1.1) < 1e-9 && Math.abs(row.high - 1.1) < 1e-9)
  let pairs = 0
  const now = () => pairs
  const { rows: [early], exitCode } = await compareCases({
    cases: [createCase('a', lists)], budgetMs: LOOKS[0] - 2, now, onPair: () => { pairs++ }
  })
  t.deepEqual([early.verdict, early.pairs, early.low, exitCode], ['no difference seen', LOOKS[0] - 1, undefined, 0])
  t.match(formatCompared([early]).join('\n'), /no difference seen at 11 pairs, too few for an interval$/)
})

tape('compare: of a rate, more is better', async (t) => {
  const lists = { this: [11], that: [10] }
  const { rows, exitCode } = await compareCases({ cases: [createCase('a', lists, 'more')], budgetMs: FOREVER })
  t.deepEqual([rows[0].verdict, exitCode], ['faster', 0])
  const other = await compareCases({ cases: [createCase('a', { this: [10], that: [11] }, 'more')], budgetMs: FOREVER })
  t.deepEqual([other.rows[0].verdict, other.exitCode], ['slower', 1])
})

tape('compare: exit code 1 when the whole interval is beyond the tolerance, not when only the ratio is', async (t) => {
  const spread = [10.2, 10.9, 10.4, 11.2, 10.1, 10.6, 10.8, 10.3, 11.1, 10.5, 10.7, 11]
  const run = (tolerance) => compareCases({ cases: [createCase('a', { this: spread, that: [10] })], budgetMs: FOREVER, tolerance })
  const small = await run(0)
  t.deepEqual([small.rows[0].verdict, small.rows[0].isTooSlow, small.exitCode, small.rows[0].pairs], ['slower', true, 1, LOOKS[0]])
  const wide = await run(0.2)
  t.deepEqual([wide.rows[0].verdict, wide.rows[0].isTooSlow, wide.exitCode], ['slower', false, 0])
  const between = await run(0.05)
  t.ok(between.rows[0].ratio > 1.05 && between.rows[0].pairs > LOOKS[0], 'goes on until it is sure')
})

tape('compare: cases take turns in rounds, and a case that is decided takes no more time', async (t) => {
  const order = []
  const noisy = (name) => {
    const { fraction } = createPrng(7)
    return { name, better: 'less', measure: async () => { order.push(name); return 1 + fraction() } }
  }
  const steady = { name: 'steady', better: 'less', measure: async () => { order.push('steady'); return 10 } }
  let pairs = 0
  const left = []
  const { rows } = await compareCases({
    cases: [noisy('noisy'), steady], budgetMs: 60, now: () => pairs, onPair: (row, open) => { pairs++; left.push(open) }
  })
  t.deepEqual(order.slice(0, 8), ['noisy', 'noisy', 'steady', 'steady', 'noisy', 'noisy', 'steady', 'steady'])
  t.deepEqual(rows.map(({ name, pairs }) => [name, pairs]), [['noisy', 61 - LOOKS[0]], ['steady', LOOKS[0]]])
  t.ok(rows[0].low < rows[0].ratio && rows[0].ratio < rows[0].high, 'there is a last look when time is up')
  t.deepEqual([left[0], left.at(-1)], [2, 1])
})

tape('compare: each tree is first in about half of the pairs', async (t) => {
  const order = []
  const { fraction: random } = createPrng(5)
  let pairs = 0
  const measure = async (tree) => { order.push(tree); return tree === 'this' ? 10 + pairs % 7 : 10 + pairs % 5 }
  await compareCases({ cases: [{ name: 'a', better: 'less', measure }], budgetMs: 200, random, now: () => pairs, onPair: () => { pairs++ } })
  const firsts = order.filter((_, index) => index % 2 === 0)
  const share = firsts.filter((tree) => tree === 'this').length / firsts.length
  t.ok(share > 0.4 && share < 0.6, `${share}`)
})

tape('compare: what a tree lacks is absent there, and the others go on; what fails here fails the run', async (t) => {
  const fail = (...trees) => async (tree) => {
    if (trees.includes(tree)) throw Object.assign(new Error('many\nlines'), { reason: `not in ${tree}` })
    return 10
  }
  const cases = [['there', ['that']], ['here', ['this']], ['both', ['this', 'that']], ['none', []]].map(([name, trees]) => {
    return { name, better: 'less', measure: fail(...trees) }
  })
  const { rows, exitCode } = await compareCases({ cases, budgetMs: FOREVER })
  t.deepEqual(rows.map(({ verdict, reason }) => [verdict, reason]), [
    ['absent there', 'not in that'], ['absent here', 'not in this'], ['absent here', 'not in this'], ['no difference seen', undefined]
  ])
  t.equal(exitCode, 1)
  t.equal((await compareCases({ cases: [cases[0], cases[3]], budgetMs: FOREVER })).exitCode, 0)
  t.match(formatCompared(rows)[1], /^there +\? +\? to \? +absent there: not in that$/)
})

tape('compare: processor time is measured in both trees at once, other figures in turn', async (t) => {
  for (const isTogether of [true, false]) {
    let [running, most] = [0, 0]
    const measure = async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      return 10
    }
    await compareCases({ cases: [{ name: 'a', better: 'less', measure, isTogether }], budgetMs: FOREVER })
    t.equal(most, isTogether ? 2 : 1)
  }
})

tape('compare: a figure that is none makes the case absent', async (t) => {
  const { rows } = await compareCases({ cases: [createCase('a', { this: [10], that: [0] })], budgetMs: FOREVER })
  t.deepEqual([rows[0].verdict, rows[0].reason], ['absent there', 'its figure is 0'])
})

tape('compare: a saved result is compared without pairs', (t) => {
  const there = [10, 10.2, 10.1, 9.9, 9.8]
  const slower = there.map((value) => value * 1.2)
  const { rows, exitCode } = compareSaved({
    cases: [
      { name: 'slower', better: 'less', here: slower, there },
      { name: 'more', better: 'more', here: slower, there },
      { name: 'same', better: 'less', here: [10.05, 9.95, 10, 10.15, 9.85], there },
      { name: 'few', better: 'less', here: slower.slice(0, 3), there: there.slice(0, 3) },
      { name: 'old', better: 'less', here: [], there },
      { name: 'new', better: 'less', here: slower, there: [] }
    ]
  })
  t.deepEqual(rows.map(({ verdict }) => verdict), ['slower', 'faster', 'no difference seen', 'no difference seen', 'absent here', 'absent there'])
  t.ok(Math.abs(rows[0].ratio - 1.2) < 1e-9)
  t.equal(rows[3].low, undefined, 'three runs are too few')
  t.equal(exitCode, 1)
  t.end()
})

tape('compare: with a saved result it is said that the machine or its load may have made the difference', (t) => {
  const facts = { machine: 'one, 2 cores', node: 'v20.20.2' }
  t.equal(describeSaved(facts, facts), 'measured earlier, not in turn: the load may have made the difference')
  t.match(describeSaved(facts, { ...facts, machine: 'other, 4 cores' }), /the machine \(other, 4 cores, Node v20.20.2; now one, .*\) may have made/)
  t.match(describeSaved(facts, { ...facts, node: 'v24.1.0' }), /Node v24.1.0; now .*Node v20.20.2\)/)
  t.end()
})

tape('compare, simulated: nothing differs, and the looks do not buy false alarms', async (t) => {
  const { slower, faster } = await simulate(1000, 1, 0.05, { budgetMs: 120000 })
  t.ok(slower + faster <= 10, `${slower + faster} of 1000`)
})

tape('compare, simulated: five percent are found within ten minutes', async (t) => {
  const { slower, faster } = await simulate(60, 1.05, 0.04, { budgetMs: 600000 })
  t.ok(slower >= 57 && faster === 0, `${slower} of 60`)
})
