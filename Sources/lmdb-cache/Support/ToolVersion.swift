/// The package's version. `CHANGELOG.md` has a section for it.
enum ToolVersion {
  static let current = "0.1.0"
}
