/// One subject at one workload, ready for repeated runs.
///
/// A round is ``before``, ``body``, ``after``; only ``body`` is timed. ``verify`` runs once, between ``body`` and
/// ``after`` of the warm-up round; ``finish`` runs once, at the end.
public struct Trial {
  /// For example "LMDBCaching.MemoryCache".
  public let subject: String
  public let threads: Int
  /// Operations of each thread in ``body``.
  public let operations: Int
  public let before: () throws -> Void
  public let body: () throws -> Void
  /// Throws if the subject lacks a value or returns a wrong one.
  public let verify: () throws -> Void
  /// Returns other readings of the round, such as the hit ratio.
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

  public var isOwn: Bool { subject.hasPrefix("LMDBCaching") || subject.hasPrefix("@EFStorage") }
}
