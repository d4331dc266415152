/// The authentication of an internet password, part of the item's identity. The raw values are Apple's codes, as in
/// KeychainAccess.
public enum AuthenticationType: String, Sendable, Hashable, CaseIterable {
  case ntlm = "ntlm"
  case msn = "msna"
  case dpa = "dpaa"
  case rpa = "rpaa"
  case httpBasic = "http"
  case httpDigest = "httd"
  case htmlForm = "form"
  case `default` = "dflt"
}

extension AuthenticationType: CustomStringConvertible {
  public var description: String {
    switch self {
    case .ntlm: "NTLM"
    case .msn: "MSN"
    case .dpa: "DPA"
    case .rpa: "RPA"
    case .httpBasic: "HTTPBasic"
    case .httpDigest: "HTTPDigest"
    case .htmlForm: "HTMLForm"
    case .default: "Default"
    }
  }
}
