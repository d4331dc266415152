/// Selects workloads whose title matches a regular expression anywhere.
public struct WorkloadFilter {
  private let pattern: Regex<AnyRegexOutput>?

  /// Empty text selects everything. Throws if the expression is invalid.
  public init(_ text: String) throws { pattern = text.isEmpty ? nil : try Regex(text) }

  public func selects(_ title: String) -> Bool {
    guard let pattern else { return true }
    return title.firstMatch(of: pattern) != nil
  }
}
