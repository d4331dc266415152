/// The namespace of top-level keys. It adds nothing to their names.
public enum GlobalNamespace: Namespace {
  public typealias parent = GlobalNamespace
  public static let id = ""
}
