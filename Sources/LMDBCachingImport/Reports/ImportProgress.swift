/// The progress of an import.
public struct ImportProgress: Sendable {
  /// The number of entries in the source, if known in advance.
  public let total: Int?
  /// The report so far.
  public let report: ImportReport
}
