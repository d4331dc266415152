/// The version of the package, where the tool says it. `CHANGELOG.md` has a section for it.
enum ToolVersion {
  static let current = "0.1.0"
}
