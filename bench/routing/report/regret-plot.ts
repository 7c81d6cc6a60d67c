import { DECISION_ENGINE } from '../baselines/all.ts';
import { type RouterFigures, type ScenarioResult } from './measure.ts';
import { TILLWAY, type BenchmarkResults } from './plan.ts';
import { meanWithError } from './statistics.ts';
import { svgBar, INK_COLOUR, svgLine, OTHER_COLOUR, OUR_COLOUR, svgDocument, svgText } from './svg.ts';
import { sortedByRegret, knowsTrueRates, formatPercent } from './tables.ts';

const WIDTH = 960;
const COLUMNS = 2;
const PANEL_HEIGHT = 190;
const LABEL_WIDTH = 256;
const VALUE_WIDTH = 40;
const BARS = 6;
const BAR_HEIGHT = 16;
const ROW_HEIGHT = 22;

/** The figures of Tillway's router, of decision-engine and of the best other routers, sorted by regret. */
function plottedFigures({ scenario, contenders }: ScenarioResult): RouterFigures[] {
  const ranked = sortedByRegret(contenders).filter(({ name }) => !knowsTrueRates(scenario, name));
  const always = [TILLWAY.name, DECISION_ENGINE.name];
  const others = ranked.filter(({ name }) => !always.includes(name)).slice(0, BARS - always.length);
  return ranked.filter((figures) => always.includes(figures.name) || others.includes(figures));
}

function panel(measured: ScenarioResult, left: number, top: number): string[] {
  const figures = plottedFigures(measured);
  const room = WIDTH / COLUMNS - LABEL_WIDTH - VALUE_WIDTH;
  const reaches = figures.map(({ regret }) => meanWithError(regret)).map(({ mean, error }) => mean + error);
  const most = Math.max(...reaches);
  const parts = [
    svgText(left + 6, top + 18, `${measured.scenario}: regret, percentage points`, { bold: true, size: 13 }),
  ];
  for (const [row, { name, regret }] of figures.entries()) {
    const { mean, error } = meanWithError(regret);
    const y = top + 32 + row * ROW_HEIGHT;
    const start = left + LABEL_WIDTH;
    const end = start + (mean / most) * room;
    const reach = (error / most) * room;
    const isOurs = name.startsWith(TILLWAY.name);
    parts.push(
      svgText(start - 6, y + 12, name, { anchor: 'end', size: 11, bold: isOurs }),
      svgBar(start, y, end - start, BAR_HEIGHT, isOurs ? OUR_COLOUR : OTHER_COLOUR),
      svgLine(
        [
          [end - reach, y + BAR_HEIGHT / 2],
          [end + reach, y + BAR_HEIGHT / 2],
        ],
        INK_COLOUR,
        2,
      ),
      svgText(end + reach + 4, y + 12, formatPercent(mean), { size: 11 }),
    );
  }
  return parts;
}

/** SVG of the regret of the best routers, with a panel for each scenario. */
export function regretPlot({ scenarios }: BenchmarkResults): string {
  const height = Math.ceil(scenarios.length / COLUMNS) * PANEL_HEIGHT;
  const parts = scenarios.flatMap((measured, place) =>
    panel(measured, (place % COLUMNS) * (WIDTH / COLUMNS), Math.floor(place / COLUMNS) * PANEL_HEIGHT),
  );
  return svgDocument(WIDTH, height, 'Regret of the best routers in every scenario; shorter is better', parts);
}
