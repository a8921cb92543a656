'use strict'
// The words of a bench: a table has groups of rows, a row is measured for each peer that takes part, and a reading is
// what one process gives. A table is data: the engine prepares, runs, judges, prints, writes and draws all of them.

/**
 * One bench: a folder of rows. `npm run bench -- NAME` runs it, `data/NAME.csv` keeps it.
 * @typedef {object} Table
 * @property {string} name
 * @property {string} about  the first lines of --help
 * @property {Group[]} groups
 * @property {Peer[]} peers  in the order of tables and charts; as `loadParts` gives them
 * @property {number} runs  how often each case runs
 * @property {number} [budgetMs]  since the start of the process; after it no case runs again, unless --runs is given
 * @property {{ minutes: number, bytes: number }} takes  a whole run: its time, and the room in `data/generated/`
 * @property {number} [records]  messages in the generated log; none where the rows read no such log
 * @property {Record<string, import('./options').Option>} [options]  of this table alone; `refine` uses them
 * @property {Record<string, string>} [aliases]  other names of `rows` and `peers`
 * @property {(options: any) => object} [refine]  what the options come to together; may replace `rows` and `peers`
 * @property {(results: import('./results').Results, shown: Shown) => string[]} format  what is printed, part by part
 * @property {Record<string, (results: import('./results').Results, shown: Shown) => string>} [tables]  for pages, by
 *   name, in Markdown; the one without a name is ''
 * @property {Record<string, (results: import('./results').Results, shown: Shown) => Promise<string | undefined>>}
 *   charts
 *   SVG by name; undefined if nothing of it was measured
 * @property {(results: import('./results').Results, shown: Shown) => import('../page/page').Report} [report]
 *
 * @typedef {{ groups: Group[], rows: Row[], peers: Peer[], facts: import('../lib/report').Facts }} Shown  what was
 *   measured
 *
 * @typedef {object} Group  rows that are shown together
 * @property {string} name
 * @property {string} title
 * @property {string} [about]
 * @property {string} [seed]  on what the seed measured itself, if the rows are those of a seed
 * @property {Row[]} rows
 *
 * @typedef {object} Peer  who takes part
 * @property {string} name  for `--peers` and the CSV file
 * @property {string} label
 * @property {string} kind  `millrace` for ours, which must not fail
 * @property {string[]} [packages]  whose versions belong beside the figures
 * @property {Record<string, string>} [standIns]  by package: what of Node.js takes its place where it is not there
 * @property {number} [order]  among the others, where a module of a path is given
 */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {string} what  one line
 * @property {Record<string, any>} peers  who takes part, by name, and the `side` that `measure` is given for each
 * @property {(order: Order) => Promise<Reading>} measure  in a process of its own
 * @property {Figure[]} figures  the first is the one that tables and charts are about
 * @property {any} [setting]  for all peers
 * @property {(context: Context) => any} [prepare]  in this process, before any measuring; what it returns is added
 *   to the setting. Its `answers` are those that all must give, its `absent` is what the machine has too little of, and
 *   its `cannot` says why a peer could not be prepared
 * @property {number[]} [at]  the row is measured at each, such as at block sizes
 * @property {(one: { peer: Peer, at?: number, setting?: any }) => boolean} [isOnce]  needs no other runs: they would
 *   only cost time
 * @property {boolean} [isLast]  takes most of the time: its second and later runs come after those of all others
 * @property {number} [runs]  at most
 * @property {number} [samples]  of a process after the first, where trees are compared; the first is not counted then
 * @property {boolean} [isProcessorTime]  compared with another tree by processor time, which a busy machine changes
 *   less:
 *   where waiting is no part of what the row measures
 * @property {number} [timeoutMs]  of one process
 * @property {string} [stage]  what the rows of a stage have prepared is on the disk at the same time, and no other
 * @property {Record<string, string>} [env]  of its processes
 * @property {Record<string, () => void>} [needs]  by what is missing if the call throws
 * @property {Record<string, string>} [cannot]  why a peer does not take part
 * @property {string} [lost]  what a SIGKILL takes at most
 *
 * @typedef {object} Order  what a measuring process is given
 * @property {Row} row
 * @property {Peer} peer
 * @property {any} side  of `row.peers`
 * @property {any} setting
 * @property {string} folder  its own, empty, removed afterwards
 * @property {number} [at]
 * @property {number} [samples]  from the command line
 *
 * @typedef {object} Reading
 * @property {Record<string, number | undefined>} figures
 * @property {Record<string, Answer>} [answers]  what was done: two of the same name must be equal
 * @property {string[]} [packages]  that were used, if the peer has a choice
 * @property {Array<[value: number, count: number]>} [tail]  the histogram of a latency, in the unit of the first figure
 * @typedef {Record<string, number | string>} Answer
 *
 * @typedef {object} Context  what a row is prepared with
 * @property {string} folder  the row's own, removed after its stage
 * @property {string} shared  of all rows of the stage
 * @property {string} generated  for logs that other runs may find again
 * @property {any} options
 * @property {<T>(name: string, make: () => T) => T} once  makes it at the first call of that name
 * @property {(release: () => unknown) => void} onEnd  of the stage
 */

/**
 * @typedef {'rate' | 'us' | 'ns' | 'ms' | 'bytes' | 'count' | 'share'} Unit  only of a rate more is better
 *
 * @typedef {object} Figure
 * @property {string} figure
 * @property {string} [what]  for the table; what the row says by default
 * @property {Unit} unit
 * @property {string} [seed]  what the seed measured, on another machine
 * @property {Goal} [goal]
 * @property {boolean} [isShare]  its ratio is told in percent
 * @property {boolean} [isCompared]  with another tree, instead of the first figure, which may be 0
 * @property {string} [by]  whose figure must meet it; `millrace` by default
 * @property {string} [drawn]  the title of its panel in a chart
 *
 * @typedef {object} Goal
 * @property {number} [least]
 * @property {number} [most]
 * @property {Compared[]} [times]  at least so many times as good as a peer: as many a second, or as short a time
 * @property {Compared[]} [within]  at most so many times the figure of a peer
 * @property {Array<{ by: number, of: string }>} [above]  at most by so much above the figure of a peer
 * @property {string} [bound]  the peer that does the least any way must do: if it misses, the goal is out of reach
 *
 * @typedef {object} Compared
 * @property {number} factor
 * @property {string} of  the peer
 * @property {string} [or]  another peer: the one that is less good counts
 * @property {string} [in]  of another row
 */

/** Whether a larger figure is the better one. @param {Unit} unit */
function isMoreBetter (unit) {
  return unit === 'rate'
}

/** What of a row is compared with another tree. @param {Row} row */
function comparedOf ({ figures }) {
  return figures.find(({ isCompared }) => isCompared) ?? figures[0]
}

exports.comparedOf = comparedOf
exports.isMoreBetter = isMoreBetter
