'use strict'
// The table and the CSV file of `bench:micro`.

const fs = require('node:fs')
const path = require('node:path')
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
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column].length)))
  const line = (/** @type {string[]} */ row) => row.map((text, column) => {
    return column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column])
  }).join(GAP).trimEnd()
  return [line(heads), ...suites.flatMap((suite) => {
    return ['', suite, ...rows.filter((_, index) => figures[index].suite === suite).map(line)]
  })].join('\n')
}

/** @param {number} figure */
function formatFigure (figure) {
  return figure < 100 ? String(Number(figure.toPrecision(2))) : formatCount(Number(figure.toPrecision(3)))
}

/**
 * @param {Figure[]} figures
 * @param {{ command: string, machine: string, node: string, packages: string }} facts
 * @returns {string}
 */
function formatCsv (figures, facts) {
  const header = [
    `command: ${facts.command}`,
    `machine: ${facts.machine}`,
    `node: ${facts.node}`,
    `packages: ${facts.packages}`,
    'ns: of one call, the median of the samples; ns_p75: three quarters of them took less; all in memory, nothing cold'
  ]
  const lines = figures.map(({ suite, name, ns, nsLate, mbPerSecond, samples }) => {
    return [suite, `"${name}"`, ns.toFixed(2), nsLate.toFixed(2), mbPerSecond?.toFixed(1) ?? '', samples].join(',')
  })
  return [...header.map((line) => `# ${line}`), COLUMNS, ...lines].join('\n') + '\n'
}

/**
 * @param {string} folder
 * @param {Figure[]} figures
 * @param {Parameters<typeof formatCsv>[1]} facts
 * @returns {string}  the file written
 */
function writeCsv (folder, figures, facts) {
  const file = path.join(folder, 'micro.csv')
  fs.writeFileSync(file, formatCsv(figures, facts))
  return file
}

exports.formatTable = formatTable
exports.formatCsv = formatCsv
exports.writeCsv = writeCsv
