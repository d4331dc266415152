public struct SubjectResult: Encodable, Sendable {
  public struct Times: Encodable, Sendable {
    public var min: Double
    public var median: Double

    /// - Parameter times: One or more rounds.
    public init(_ times: [Double]) {
      min = times.min()!
      median = times.median
    }
  }

  public var workload: String
  public var subject: String
  public var threads: Int
  public var parameters: Parameters
  /// Per thread: two threads that do twice the work of one have the same time.
  public var nanosecondsPerOperation: Times
  public var runs: Int
  /// Per thread.
  public var operationsPerRun: Int
  /// Medians of other readings, such as the hit ratio or a longest wait.
  public var readings: [String: Double]

  public init(
    workload: String, subject: String, threads: Int, parameters: Parameters, times: [Double], operationsPerRun: Int,
    readings: [String: Double] = [:]
  ) {
    self.workload = workload
    self.subject = subject
    self.threads = threads
    self.parameters = parameters
    nanosecondsPerOperation = Times(times)
    runs = times.count
    self.operationsPerRun = operationsPerRun
    self.readings = readings
  }

  private enum CodingKeys: CodingKey {
    case workload, subject, threads, nanosecondsPerOperation, runs, operationsPerRun
  }

  // Parameters and readings are encoded inline.
  public func encode(to encoder: any Encoder) throws {
    try parameters.encode(to: encoder)
    try readings.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(workload, forKey: .workload)
    try container.encode(subject, forKey: .subject)
    try container.encode(threads, forKey: .threads)
    try container.encode(nanosecondsPerOperation, forKey: .nanosecondsPerOperation)
    try container.encode(runs, forKey: .runs)
    try container.encode(operationsPerRun, forKey: .operationsPerRun)
  }
}
