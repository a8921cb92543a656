'use strict'
// The pages stay short: what is written by hand has a bound. `npm run docs:words` shows the counts.

const tape = require('tape')
const { countPages, countWords } = require('../scripts/count-words')

const BOUNDS = [
  [/^README\.md$/, 900],
  [/^packages\/[^/]+\/README\.md$/, 900],
  [/^docs\/internals\/architecture\.md$/, 2300],
  [/^docs\/internals\/performance\.md$/, 2000],
  [/^docs\/internals\/decisions\/(?!README)/, 200]
]
// Pages that are longer, with their count when this test was written. It may only go down.
const LONGER = {}
const ALL = 50_000

const counts = countPages()

tape('words: no page is longer than it may be', (t) => {
  for (const [pattern, bound] of BOUNDS) {
    const pages = [...counts].filter(([page]) => pattern.test(page))
    t.ok(pages.length > 0, `there are pages like ${pattern}`)
    const over = pages.filter(([page, count]) => count > (LONGER[page] ?? bound))
    t.deepEqual(over, [], `at most ${bound} words: ${pattern}`)
  }
  t.end()
})

tape('words: all pages together are not longer than they may be', (t) => {
  const sum = [...counts.values()].reduce((sum, count) => sum + count, 0)
  t.ok(sum <= ALL, `${sum} words that are written by hand, of ${ALL}`)
  t.end()
})

tape('words: tables that are generated, and comments, do not count', (t) => {
  t.equal(countWords('# One two\n\nthree <!-- figure: a b -->4<!-- end --> five\n<!-- figures: x -->\n| a | b |\n<!-- figures end -->\n'), 6)
  t.end()
})
