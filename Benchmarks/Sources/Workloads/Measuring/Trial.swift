/// One subject at one workload, ready to be run again and again.
///
/// A round is ``before``, ``body``, ``after``; only ``body`` is timed. ``verify`` comes once, between ``body`` and
/// ``after`` of the round that warms up; ``finish`` once, at the end.
public struct Trial {
  /// What does the work, such as "LMDBCaching.MemoryCache".
  public let subject: String
  public let threads: Int
  /// How many operations each thread does in ``body``.
  public let operations: Int
  public let before: () throws -> Void
  public let body: () throws -> Void
  /// Throws if the subject does not hold what it was given, or gives other than it was given.
  public let verify: () throws -> Void
  /// Gives what else is to be told of the round, such as the hit ratio.
  public let after: () throws -> [String: Double]
  public let finish: () throws -> Void

  init(
    _ subject: String, threads: Int = 1, operations: Int, before: @escaping () throws -> Void = {},
    verify: @escaping () throws -> Void = {},
    after: @escaping () throws -> [String: Double] = { [:] }, finish: @escaping () throws -> Void = {},
    body: @escaping () throws -> Void
  ) {
    self.subject = subject
    self.threads = threads
    self.operations = operations
    self.before = before
    self.body = body
    self.verify = verify
    self.after = after
    self.finish = finish
  }

  /// Whether the subject is of this project.
  public var isOwn: Bool { subject.hasPrefix("LMDBCaching") || subject.hasPrefix("@EFStorage") }
}
