'use strict'
// The table and the CSV file of `bench:micro`.

const { alignColumns } = require('../lib/columns')
const { formatCsvFile, listFacts, writeCsvFile } = require('../lib/csv-file')
const { formatCount } = require('../lib/format')

/** @typedef {import('./shapes').Figure} Figure */

const COLUMNS = 'suite,task,ns,ns_p75,mb_per_second,samples'
const GAP = '   '

/**
 * @param {Figure[]} figures
 * @returns {string}
 */
function formatTable (figures) {
  const suites = [...new Set(figures.map(({ suite }) => suite))]
  const heads = ['', 'ns a call', 'p75', 'MB/s']
  const rows = figures.map(({ name, ns, nsLate, mbPerSecond }) => {
    return [`  ${name}`, formatFigure(ns), formatFigure(nsLate), mbPerSecond === null ? '' : formatFigure(mbPerSecond)]
  })
  const [head, ...lines] = alignColumns([heads, ...rows], GAP)
  return [head, ...suites.flatMap((suite) => {
    return ['', suite, ...lines.filter((_, index) => figures[index].suite === suite)]
  })].join('\n')
}

/** @param {number} figure */
function formatFigure (figure) {
  return figure < 100 ? String(Number(figure.toPrecision(2))) : formatCount(Number(figure.toPrecision(3)))
}

/**
 * @param {Figure[]} figures
 * @param {import('../lib/csv-file').CsvFacts} facts
 * @returns {string}
 */
function formatCsv (figures, facts) {
  const header = [
    ...listFacts(facts),
    'ns: of one call, the median of the samples; ns_p75: three quarters of them took less; all in memory, nothing cold'
  ]
  const lines = figures.map(({ suite, name, ns, nsLate, mbPerSecond, samples }) => {
    return [suite, `"${name}"`, ns.toFixed(2), nsLate.toFixed(2), mbPerSecond?.toFixed(1) ?? '', samples].join(',')
  })
  return formatCsvFile(header, COLUMNS, lines)
}

/**
 * @param {string} folder
 * @param {Figure[]} figures
 * @param {Parameters<typeof formatCsv>[1]} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, figures, facts) {
  return writeCsvFile(folder, 'micro', formatCsv(figures, facts))
}

exports.formatTable = formatTable
exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
