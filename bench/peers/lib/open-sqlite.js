'use strict'
// SQLite by either of its two ways into Node.js, with the little of them that is used here.

const { load } = require('./load')

/**
 * @typedef {object} Column  the first of each row of a query
 * @property {(...values: any[]) => Iterable<any>} each
 * @property {(...values: any[]) => any} get
 */

/**
 * @typedef {object} Sqlite
 * @property {string} name  of what is used
 * @property {(sql: string) => void} exec
 * @property {(sql: string) => { run: (...values: any[]) => void }} prepare
 * @property {(sql: string) => Column} column
 * @property {() => void} close
 */

/**
 * @param {string} file
 * @returns {Sqlite}
 * @throws {Error}  where there is neither of them
 */
function openSqlite (file) {
  try {
    return wrapBetter(file)
  } catch (err) {
    if (!/node:sqlite|find module|bindings/i.test(String(err))) throw err
    if (!findNodeSqlite()) throw new Error(`neither better-sqlite3 nor node:sqlite is there: ${firstLine(err)}`)
    return wrapNode(file)
  }
}

/**
 * @param {string} file
 * @returns {Sqlite}
 */
function wrapBetter (file) {
  const db = new (load('better-sqlite3'))(file)
  return {
    name: 'better-sqlite3',
    exec: (sql) => { db.exec(sql) },
    prepare: (sql) => db.prepare(sql),
    column (sql) {
      const statement = db.prepare(sql).pluck()
      return { each: (...values) => statement.iterate(...values), get: (...values) => statement.get(...values) }
    },
    close: () => db.close()
  }
}

/**
 * @param {string} file
 * @returns {Sqlite}
 */
function wrapNode (file) {
  const db = new (findNodeSqlite().DatabaseSync)(file)
  return {
    name: 'node:sqlite',
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    column (sql) {
      const statement = db.prepare(sql)
      const first = (/** @type {object | undefined} */ row) => row && Object.values(row)[0]
      return {
        * each (...values) {
          for (const row of statement.iterate(...values)) yield first(row)
        },
        get: (...values) => first(statement.get(...values))
      }
    },
    close: () => db.close()
  }
}

/** @returns {any}  the module, or undefined where Node.js has none */
function findNodeSqlite () {
  return /** @type {any} */ (process).getBuiltinModule?.('node:sqlite')
}

/** @param {unknown} err */
function firstLine (err) {
  return String(/** @type {any} */ (err).message).split('\n')[0]
}

exports.openSqlite = openSqlite
exports.findNodeSqlite = findNodeSqlite
