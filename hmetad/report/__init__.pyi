"""Reports of results as pages, and results as plain tables."""

from hmetad.report.contents.crossed import crossed_sentences as crossed_sentences
from hmetad.report.contents.crossed import crossed_table as crossed_table
from hmetad.report.contents.decided import decisions_report as decisions_report
from hmetad.report.contents.estimates import cells_withheld as cells_withheld
from hmetad.report.contents.estimates import convergence_record as convergence_record
from hmetad.report.contents.estimates import estimate_table as estimate_table
from hmetad.report.contents.fit_report import combine_reports as combine_reports
from hmetad.report.contents.fit_report import fit_report as fit_report
from hmetad.report.contents.judge_report import judge_report as judge_report
from hmetad.report.contents.measures_report import measures_report as measures_report
from hmetad.report.contents.paragraph import manuscript_details as manuscript_details
from hmetad.report.contents.paragraph import results_paragraph as results_paragraph
from hmetad.report.contents.population import among_published as among_published
from hmetad.report.contents.population import moved_populations as moved_populations
from hmetad.report.contents.population import population_table as population_table
from hmetad.report.contents.selection_report import conclusion as conclusion
from hmetad.report.contents.selection_report import selection_report as selection_report
from hmetad.report.contents.tables import reasons_withheld as reasons_withheld
from hmetad.report.page.report import decisions_record as decisions_record
