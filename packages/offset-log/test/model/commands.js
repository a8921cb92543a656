'use strict'
// What a model run may do to a log, as fast-check makes it up and shrinks it.

const fc = require('fast-check')

const size = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 60 }), weight: 8 },
  { arbitrary: fc.integer({ min: 0, max: 900 }), weight: 4 },
  { arbitrary: fc.integer({ min: 15_900, max: 16_400 }), weight: 1 },
  { arbitrary: fc.integer({ min: 0, max: 40_000 }), weight: 1 }
)
const place = fc.integer({ min: 0, max: 999 })

/** Records are named by their place in the log, as a share of its length, so that a shorter run names others. */
const command = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('append'), sizes: fc.tuple(size) }), weight: 8 },
  { arbitrary: fc.record({ do: fc.constant('append'), sizes: fc.array(size, { maxLength: 12 }) }), weight: 6 },
  { arbitrary: fc.record({ do: fc.constant('del'), places: fc.array(place, { minLength: 1, maxLength: 5 }) }), weight: 5 },
  { arbitrary: fc.record({ do: fc.constant('sync') }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('compact') }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('reopen') }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('kill') }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant('cut'), seed: fc.nat() }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('get'), place }), weight: 3 },
  { arbitrary: fc.record({ do: fc.constant('stream'), seed: fc.nat() }), weight: 6 }
)

/** One run: what the log is opened with, and what is done to it. */
exports.runs = fc.record({
  framing: fc.constantFrom('checked', 'checked', 'checked', 'offset32', 'offset48', 'offset53'),
  fsync: fc.constantFrom('always', 'interval', 'never'),
  commands: fc.array(command, { minLength: 1, maxLength: 25 })
})
