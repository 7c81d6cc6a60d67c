import assert from 'node:assert/strict';
import { parser } from '@prometheus-io/lezer-promql';

/** Content of `/metrics`: for each metric, the values of each label. */
export type ExposedMetrics = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Labels that Prometheus adds to every scraped series. */
const SCRAPE_LABELS = new Set(['job', 'instance']);
/** Metric that Prometheus adds for every scrape. */
const UP = 'up';
// Values of the label `status` that are valid even if no request of the test had such a status.
const HTTP_CLASS = /^[1-5]xx$/;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function readExposition(text: string): ExposedMetrics {
  const metrics = new Map<string, Map<string, Set<string>>>();
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, name, labels = ''] = LINE.exec(line) ?? [];
    assert.ok(name !== undefined, `not a line of the exposition: ${line}`);
    const known = metrics.get(name) ?? new Map<string, Set<string>>();
    metrics.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(LABEL)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  }
  return metrics;
}

interface Selector {
  metric: string;
  matchers: { label: string; operator: string; value: string }[];
}

/** Replaces the variables of a dashboard by values, as Grafana does. */
function withVariableValues(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance|environment)\b/g, '.+');
}

/** Selectors of an expression, and the labels in its `by` and `on` clauses. */
function parse(text: string) {
  const found = { isValid: true, selectors: [] as Selector[], grouping: [] as string[] };
  parser.parse(text).iterate({
    enter({ node, type }) {
      const textOf = (child: string) => {
        const part = node.getChild(child);
        return part ? text.slice(part.from, part.to) : '';
      };
      if (type.isError) found.isValid = false;
      if (type.name === 'VectorSelector') found.selectors.push({ metric: textOf('Identifier'), matchers: [] });
      if (type.name === 'UnquotedLabelMatcher') {
        const [label, operator, value] = [textOf('LabelName'), textOf('MatchOp'), textOf('StringLiteral').slice(1, -1)];
        found.selectors.at(-1)?.matchers.push({ label, operator, value });
      }
      if (type.name === 'GroupingLabels') {
        found.grouping.push(...(text.slice(node.from, node.to).match(/\w+/g) ?? []));
      }
    },
  });
  return found;
}

/** Errors of an expression, checked against the metrics of a service; `shown` are the labels in its legend or alert text. */
export function expressionFaults(expression: string, shown: readonly string[], exposed: ExposedMetrics): string[] {
  const { isValid, selectors, grouping } = parse(withVariableValues(expression));
  if (!isValid) return [`not PromQL: ${expression}`];
  if (selectors.length === 0) return [`names no metric: ${expression}`];
  const labelsOf = (metric: string) => [...(exposed.get(metric)?.keys() ?? []), ...SCRAPE_LABELS];
  const known = new Set(selectors.flatMap(({ metric }) => labelsOf(metric)));
  const unknown = [...grouping, ...(grouping.length > 0 ? [] : shown)].filter((label) => !known.has(label));
  // A grouped result has only the labels of the grouping.
  const lost = grouping.length > 0 ? shown.filter((label) => !grouping.includes(label)) : [];
  return [
    ...selectors.flatMap((selector) => faultsOfSelector(selector, exposed)),
    ...unknown.map((label) => `no metric of the expression has the label ${label}: ${expression}`),
    ...lost.map((label) => `the label ${label} is not in the result: ${expression}`),
  ];
}

function faultsOfSelector({ metric, matchers }: Selector, exposed: ExposedMetrics): string[] {
  const labels = exposed.get(metric);
  if (!labels && metric !== UP) return [`there is no metric ${metric}`];
  return matchers.flatMap(({ label, operator, value }) => {
    if (SCRAPE_LABELS.has(label)) return [];
    const values = labels?.get(label);
    if (!values) return [`${metric} has no label ${label}`];
    if (label === 'status' && HTTP_CLASS.test(value)) return [];
    const exists = operator.endsWith('~')
      ? [...values].some((each) => new RegExp(`^(?:${value})$`).test(each))
      : values.has(value);
    return exists ? [] : [`${metric} has no ${label} ${value}`];
  });
}
