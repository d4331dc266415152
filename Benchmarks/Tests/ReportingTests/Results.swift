@testable import Reporting

/// A result whose rounds all took `time`.
func result(
  _ workload: String, _ subject: String, _ time: Double, threads: Int = 1, _ parameters: Parameters = Parameters()
) -> SubjectResult {
  SubjectResult(
    workload: workload, subject: subject, threads: threads, parameters: parameters, times: [time, time, time],
    operationsPerRun: 100)
}
