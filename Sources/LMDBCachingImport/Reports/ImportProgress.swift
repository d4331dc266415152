/// How far an import is.
public struct ImportProgress: Sendable {
  /// How many entries the source has, where that is known before it is read.
  public let total: Int?
  /// What was done so far.
  public let report: ImportReport
}
